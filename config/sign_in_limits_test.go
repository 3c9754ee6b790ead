package config_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
)

// behindProxy serves behind a proxy that says from which address a request comes.
func behindProxy(settings *config.Settings) {
	settings.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func (c call) from(address string) call {
	return c.with("X-Forwarded-For", address)
}

// refusedFrom guesses from many addresses and counts the guesses that were not tried.
func (s *stage) refusedFrom(tb testing.TB, guess func(int) call) int {
	tb.Helper()
	const guesses = 60
	refused := 0
	for i := range guesses {
		if got := s.answerTo(tb, guess(i)); got.status == http.StatusTooManyRequests {
			refused++
			wantWait(tb, got)
		}
	}
	return refused
}

func TestGuessesAreLimited(t *testing.T) {
	t.Parallel()

	t.Run("ByAccountFromWhereverTheyCome", func(t *testing.T) {
		t.Parallel()
		s := setup(t, behindProxy)
		s.withPassword(t)
		home := signIn(visitorEmail, visitorPassword).from("198.51.100.1")
		if got := s.answerTo(t, home); got.status != http.StatusSeeOther {
			t.Fatalf("status = %d, want 303", got.status)
		}
		refused := s.refusedFrom(t, func(i int) call {
			return signIn(strings.ToUpper(visitorEmail), "guess").from(fmt.Sprintf("203.0.113.%d", i))
		})
		if refused < 20 {
			t.Errorf("%d of 60 guesses from 60 addresses were refused, want those beyond the limit", refused)
		}
		// Whoever has signed in from an address goes on doing so.
		if got := s.answerTo(t, home); got.status != http.StatusSeeOther {
			t.Errorf("status at a familiar address = %d, want 303", got.status)
		}
		// Another account is not affected.
		s.visit(t, http.StatusUnauthorized, signIn("somebody@b.example", "guess").from("203.0.113.200"))
	})

	t.Run("ByTheNetworkOfIPv6", func(t *testing.T) {
		t.Parallel()
		s := setup(t, behindProxy)
		refused := s.refusedFrom(t, func(i int) call {
			return signIn(fmt.Sprintf("a%d@b.example", i), "guess").from(fmt.Sprintf("2001:db8:0:1::%x", i))
		})
		if refused < 20 {
			t.Errorf("%d of 60 guesses from one /64 were refused, want those beyond the limit", refused)
		}
		s.visit(t, http.StatusUnauthorized, signIn("a@b.example", "guess").from("2001:db8:0:2::1"))
	})

	t.Run("ByTheLengthOfThePassword", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		shows(t, s.visit(t, http.StatusBadRequest, signIn(visitorEmail, strings.Repeat("p", 1025))),
			"must be at most 1024 bytes")
	})
}

func TestSessionsAreAudited(t *testing.T) {
	t.Parallel()
	s := setup(t, behindProxy)
	id := s.withPassword(t)
	const address = "203.0.113.7"
	s.visit(t, http.StatusUnauthorized, signIn(visitorEmail, "a wrong password").from(address))
	s.visit(t, http.StatusUnauthorized, signIn("nobody@b.example", "a wrong password").from(address))
	own := sessionOf(t, s.answerTo(t, signIn(visitorEmail, visitorPassword).from(address))).Value
	s.session(t, id)
	s.visit(t, http.StatusSeeOther, post("/app/account/sessions/end/", own, nil).from(address))
	change := func(current string) call {
		const fresh = "another long password"
		fields := url.Values{"current": {current}, "new": {fresh}, "again": {fresh}}
		return post("/app/account/password/", own, fields).from(address)
	}
	s.visit(t, http.StatusBadRequest, change("wrong"))
	own = sessionOf(t, s.answerTo(t, change(visitorPassword))).Value
	s.visit(t, http.StatusSeeOther, post("/app/sign-out/", own, nil).from(address))

	const deeds = `SELECT string_agg(action, ' ' ORDER BY id) FROM audit_records
		WHERE org_id = $1 AND actor_id = $2 AND target_id = $2::text AND detail LIKE '%from ' || $3`
	want := "session.refuse session.begin session.end password.refuse password.change session.end"
	if got := one[string](t, s, deeds, s.Harbour.ID, id, address); got != want {
		t.Errorf("audit records = %s, want %s", got, want)
	}
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"audit/?noun=session", s.visitor(t, core.RoleAdmin))),
		"session.refuse", "wrong password from "+address)
}

// An account that belongs to no organization has its records in the installation's log.
func TestDeedsOnAccountsOfNoOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t)
	user, err := s.Users.CreateUser(t.Context(), "alone@b.example", "Alone", visitorPassword)
	if err != nil {
		t.Fatal(err)
	}
	s.visit(t, http.StatusUnauthorized, signIn("alone@b.example", "wrong"))
	if err := s.Users.SetOperator(t.Context(), user.ID, true); err != nil {
		t.Fatal(err)
	}
	got := one[string](t, s, `SELECT string_agg(action, ' ' ORDER BY id) FROM audit_records
		WHERE org_id = $1 AND target_id = $2`, uuid.Nil, user.ID.String())
	if want := "user.create session.refuse user.set_operator"; got != want {
		t.Errorf("audit records = %s, want %s", got, want)
	}
}

func TestAccessLogHasTheClientsAddress(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	e := echo.New()
	e.Use(core.AccessLog(slog.New(slog.NewTextHandler(&lines, nil)), func(echo.Context) []slog.Attr { return nil }))
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	request.RemoteAddr = "203.0.113.7:4711"
	e.ServeHTTP(httptest.NewRecorder(), request)
	if !strings.Contains(lines.String(), " client=203.0.113.7") {
		t.Errorf("access log = %s, want the client's address", lines.String())
	}
}
