package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// behindProxy serves behind a proxy that says from which address a request comes.
func behindProxy(settings *config.Settings) {
	settings.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// refusedFrom guesses from many addresses and counts the guesses that were not tried.
func (s *stage) refusedFrom(tb testing.TB, guess func(int) call) int {
	tb.Helper()
	const guesses = 60
	refused := 0
	for i := range guesses {
		if got := s.AnswerTo(tb, guess(i)); got.Status == http.StatusTooManyRequests {
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
		s.WithPassword(t)
		home := fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword).From("198.51.100.1")
		if got := s.AnswerTo(t, home); got.Status != http.StatusSeeOther {
			t.Fatalf("status = %d, want 303", got.Status)
		}
		refused := s.refusedFrom(t, func(i int) call {
			return fixture.SignIn(strings.ToUpper(fixture.VisitorEmail), "guess").From(fmt.Sprintf("203.0.113.%d", i))
		})
		if refused < 20 {
			t.Errorf("%d of 60 guesses from 60 addresses were refused, want those beyond the limit", refused)
		}
		// Whoever has signed in from an address goes on doing so.
		if got := s.AnswerTo(t, home); got.Status != http.StatusSeeOther {
			t.Errorf("status at a familiar address = %d, want 303", got.Status)
		}
		// Another account is not affected.
		s.Visit(t, http.StatusUnauthorized, fixture.SignIn("somebody@b.example", "guess").From("203.0.113.200"))
	})

	t.Run("ByTheNetworksAround", func(t *testing.T) {
		t.Parallel()
		s := setup(t, behindProxy)
		s.WithPassword(t)
		home := fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword).From("2001:db8:1::1")
		s.Visit(t, http.StatusSeeOther, home)
		refused := 0
		for i := range 1000 {
			guess := fixture.SignIn(fmt.Sprintf("a%d@b.example", i), "guess").From(fmt.Sprintf("2001:db8:1:%x::1", i+1))
			if got := s.AnswerTo(t, guess); got.Status == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused < 500 {
			t.Errorf("%d of 1000 guesses from the networks of one /48 were refused, want most", refused)
		}
		s.Visit(t, http.StatusSeeOther, home)
		s.Visit(t, http.StatusUnauthorized, fixture.SignIn("a@b.example", "guess").From("2001:db8:2::1"))
	})

	t.Run("ByTheNetworkOfIPv6", func(t *testing.T) {
		t.Parallel()
		s := setup(t, behindProxy)
		refused := s.refusedFrom(t, func(i int) call {
			return fixture.SignIn(fmt.Sprintf("a%d@b.example", i), "guess").From(fmt.Sprintf("2001:db8:0:1::%x", i))
		})
		if refused < 20 {
			t.Errorf("%d of 60 guesses from one /64 were refused, want those beyond the limit", refused)
		}
		s.Visit(t, http.StatusUnauthorized, fixture.SignIn("a@b.example", "guess").From("2001:db8:0:2::1"))
	})

	t.Run("ByTheLengthOfThePassword", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		fixture.Shows(t, s.Visit(t, http.StatusBadRequest,
			fixture.SignIn(fixture.VisitorEmail, strings.Repeat("p", 1025))),
			"must be at most 1024 bytes")
	})
}

// Guesses from everywhere keep those out who have never been here, and nobody else.
func TestAFloodOfGuesses(t *testing.T) {
	t.Parallel()
	s := setup(t, behindProxy)
	s.WithPassword(t)
	home := fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword).From("198.51.100.1")
	session := sessionOf(t, s.AnswerTo(t, home)).Value
	slow, err := argon2id.CreateHash("slow", &argon2id.Params{
		Memory: 64 << 10, Iterations: 8, Parallelism: 1, SaltLength: 16, KeyLength: 32,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	defer flood.Wait()
	defer end()
	for i := range 9 {
		flood.Go(func() {
			for ctx.Err() == nil { // What each guess is answered is nothing to this test.
				_, _ = s.Users.Accounts.Match(ctx, fmt.Sprintf("network %d", i), "guess", slow)
			}
		})
	}
	// Who does not wait learns whether the queue is full.
	hurried, leave := context.WithCancel(ctx)
	leave()
	for !errors.Is(err, api.CodeRateLimited) {
		_, err = s.Users.Accounts.Match(hurried, "hurried", "guess", slow)
	}
	fixture.Shows(t, s.Visit(t, http.StatusTooManyRequests,
		fixture.SignIn("somebody@b.example", "guess").From("203.0.113.1")), "Many people sign in at the moment")
	s.Visit(t, http.StatusSeeOther, home)
	s.Exec(t, `UPDATE sessions SET proved_at = NULL`)
	form := fixture.Post("/app/account/second-factor/", session, nil)
	s.Visit(t, http.StatusSeeOther, proving(form, "proof-password", fixture.VisitorPassword))
}

func TestSessionsAreAudited(t *testing.T) {
	t.Parallel()
	s := setup(t, behindProxy)
	id := s.WithPassword(t)
	const address = "203.0.113.7"
	s.Visit(t, http.StatusUnauthorized, fixture.SignIn(fixture.VisitorEmail, "a wrong password").From(address))
	s.Visit(t, http.StatusUnauthorized, fixture.SignIn("nobody@b.example", "a wrong password").From(address))
	own := sessionOf(t, s.AnswerTo(t,
		fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword).From(address))).Value
	s.Session(t, id)
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/sessions/end/", own, nil).From(address))
	change := func(current string) call {
		const fresh = "another long password"
		fields := url.Values{"current": {current}, "new": {fresh}, "again": {fresh}}
		return fixture.Post("/app/account/password/", own, fields).From(address)
	}
	s.Visit(t, http.StatusBadRequest, change("wrong"))
	own = sessionOf(t, s.AnswerTo(t, change(fixture.VisitorPassword))).Value
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/sign-out/", own, nil).From(address))

	const actions = `SELECT string_agg(action, ' ' ORDER BY id) FROM audit_records
		WHERE org_id = $1 AND actor_id = $2 AND target_id = $2::text AND detail LIKE '%from ' || $3`
	want := "session.refuse session.begin session.end password.refuse password.change session.end"
	if got := coretest.One[string](t, s.DB, actions, s.Harbour.ID, id, address); got != want {
		t.Errorf("audit records = %s, want %s", got, want)
	}
	s.shows(t, harbour("audit/?noun=session", s.Visitor(t, api.RoleAdmin)), "session.refuse",
		"wrong password from "+address)
}

// An account that belongs to no organization has its records in the installation's log.
func TestActionsOnAccountsWithoutOrganizationAreAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	user, err := s.Users.Accounts.CreateUser(t.Context(), "alone@b.example", "Alone", fixture.VisitorPassword)
	if err != nil {
		t.Fatal(err)
	}
	s.Visit(t, http.StatusUnauthorized, fixture.SignIn("alone@b.example", "wrong"))
	if err := s.Users.SetOperator(t.Context(), user.ID, true); err != nil {
		t.Fatal(err)
	}
	got := coretest.One[string](t, s.DB, `SELECT string_agg(action, ' ' ORDER BY id) FROM audit_records
		WHERE org_id = $1 AND target_id = $2`, uuid.Nil, user.ID.String())
	if want := "user.create session.refuse user.set_operator"; got != want {
		t.Errorf("audit records = %s, want %s", got, want)
	}
}
