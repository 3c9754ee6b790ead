package pages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// sessionOf returns the cookie that an answer sets.
func sessionOf(tb testing.TB, got answer) *http.Cookie {
	tb.Helper()
	response := http.Response{Header: got.Header}
	for _, cookie := range response.Cookies() {
		if cookie.Name == "sv_session" {
			return cookie
		}
	}
	tb.Fatalf("no session is set: %d %s", got.Status, got.Body)
	return nil
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.WithPassword(t)

	t.Run("LeadsToThePageThatWasAskedFor", func(t *testing.T) {
		t.Parallel()
		got := s.AnswerTo(t, fixture.SignIn(strings.ToUpper(fixture.VisitorEmail), fixture.VisitorPassword))
		if to := got.Header.Get("Location"); got.Status != http.StatusSeeOther || to != fixture.HarbourPages {
			t.Fatalf("%d to %q, want 303 to %s", got.Status, to, fixture.HarbourPages)
		}
		cookie := sessionOf(t, got)
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/app/" || cookie.Secure {
			t.Errorf("cookie = %v, want HttpOnly, SameSite=Lax, for /app/, and not Secure over http", cookie)
		}
		s.see(t, fixture.Page("/app/account/", cookie.Value))
	})
	t.Run("KeepsTheCookieToEncryptedConnections", func(t *testing.T) {
		t.Parallel()
		got := s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword).With("X-Forwarded-Proto",
			"https"))
		if !sessionOf(t, got).Secure {
			t.Error("the cookie is not Secure behind a proxy that says https")
		}
	})
	t.Run("AnswersTheSameWhateverIsWrong", func(t *testing.T) {
		t.Parallel()
		unknown := s.Visit(t, http.StatusUnauthorized, fixture.SignIn("nobody@harbour-energy.example",
			fixture.VisitorPassword))
		wrong := s.Visit(t, http.StatusUnauthorized, fixture.SignIn(fixture.VisitorEmail, "wrong password"))
		without := s.Visit(t, http.StatusUnauthorized, fixture.SignIn("owner@harbour-energy.example", ""))
		for _, html := range []string{unknown, wrong, without} {
			fixture.Shows(t, html, "The e-mail address or the password is wrong.")
			fixture.Hides(t, html, fixture.VisitorPassword)
		}
		fixture.Shows(t, wrong, `value="`+fixture.VisitorEmail+`"`)
	})
	t.Run("LeadsToNoOtherSite", func(t *testing.T) {
		t.Parallel()
		for _, next := range []string{
			"https://evil.example/", "//evil.example/", `/app/\..`, "/api/me/", "javascript:1", "",
		} {
			c := fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword)
			c.Body = url.Values{
				"email": {fixture.VisitorEmail}, "password": {fixture.VisitorPassword}, "next": {next},
			}.Encode()
			if to := s.AnswerTo(t, c).Header.Get("Location"); to != "/app/" {
				t.Errorf("next = %q leads to %q, want /app/", next, to)
			}
		}
	})
	t.Run("RefusesOtherSites", func(t *testing.T) {
		t.Parallel()
		s.Visit(t, http.StatusForbidden, fixture.SignIn(fixture.VisitorEmail,
			fixture.VisitorPassword).With("Sec-Fetch-Site", "cross-site"))
	})
}

// wantWait checks that an answer tells people and programs when a password may be tried again.
func wantWait(tb testing.TB, got answer) {
	tb.Helper()
	after, err := strconv.Atoi(got.Header.Get("Retry-After"))
	if err != nil || after < 1 || after > 6 {
		tb.Errorf("Retry-After = %q, want 1 to 6 seconds", got.Header.Get("Retry-After"))
	}
	fixture.Shows(tb, string(got.Body), "Too many password attempts. Try again in "+core.Plural(after, "second")+".")
}

func TestGuessesOnTheAccountPageAreLimited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Session(t, s.WithPassword(t))
	guess := fixture.Post("/app/account/password/", session,
		url.Values{"current": {"guess"}, "new": {"a new password"}, "again": {"a new password"}})
	for range 100 {
		if got := s.AnswerTo(t, guess); got.Status == http.StatusTooManyRequests {
			wantWait(t, got)
			return
		}
	}
	t.Fatal("100 guesses at once were all tried")
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	start := func(t *testing.T, replaces string) string {
		t.Helper()
		return sessionOf(t, s.AnswerTo(t,
			fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword).In(replaces))).Value
	}

	t.Run("RotateAtEachSignIn", func(t *testing.T) {
		t.Parallel()
		first := start(t, "")
		second := start(t, first)
		if first == second {
			t.Fatal("the secret is the same")
		}
		s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", first))
		s.see(t, fixture.Page("/app/account/", second))
	})
	t.Run("AreNotChosenByOthers", func(t *testing.T) {
		t.Parallel()
		if got := start(t, "sv_planted"); got == "sv_planted" {
			t.Error("the session has the secret that came with the request")
		}
		s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", "sv_planted"))
	})
	t.Run("EndBySigningOut", func(t *testing.T) {
		t.Parallel()
		session := start(t, "")
		got := s.AnswerTo(t, fixture.Post("/app/sign-out/", session, nil))
		fixture.WantHeader(t, got, map[string]string{"Clear-Site-Data": `"cache"`, "Location": "/app/sign-in/"})
		s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", session))
	})
	t.Run("LastLongerWhileTheyAreUsedAndEndAfterAWeek", func(t *testing.T) {
		t.Parallel()
		session := s.Session(t, id)
		s.Exec(t, `UPDATE sessions SET last_used_at = now() - interval '11 hours' WHERE digest = sha256($1)`,
			[]byte(session))
		s.see(t, fixture.Page("/app/account/", session))
		const left = `SELECT extract(epoch FROM expires_at - now())::float8 / 3600 FROM sessions
			WHERE digest = sha256($1)`
		if hours := coretest.One[float64](t, s.DB, left, []byte(session)); hours < 11.9 || hours > 12 {
			t.Errorf("the session lasts %.2f h more, want 12", hours)
		}
		s.Exec(t, `UPDATE sessions
			SET created_at = now() - interval '6 days 23 hours', expires_at = now() + interval '1 minute',
				last_used_at = now() - interval '11 hours 59 minutes'
			WHERE digest = sha256($1)`, []byte(session))
		s.see(t, fixture.Page("/app/account/", session))
		if hours := coretest.One[float64](t, s.DB, left, []byte(session)); hours < 0.9 || hours > 1 {
			t.Errorf("the session lasts %.2f h more, want what remains of its week: 1", hours)
		}
	})
	t.Run("ArePurgedWhenTheyHaveEnded", func(t *testing.T) {
		t.Parallel()
		ended, running := s.Session(t, id), s.Session(t, id)
		s.Exec(t, `UPDATE sessions SET expires_at = now() WHERE digest = sha256($1)`, []byte(ended))
		if _, err := s.Users.SignIn.PurgeSessions(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		coretest.WantRow(t, s.DB, coretest.Row{"ended": "f", "running": "t"}, `SELECT
			EXISTS (SELECT FROM sessions WHERE digest = sha256($1)) AS ended,
			EXISTS (SELECT FROM sessions WHERE digest = sha256($2)) AS running`, []byte(ended), []byte(running))
	})
}

func TestOtherSessionsEndAfterAConfirmation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.AddMember(t, "visitor", api.RoleViewer)
	own := s.Session(t, id)
	s.hides(t, fixture.Page("/app/account/", own), "End all other sessions")
	other := s.Session(t, id)
	s.Session(t, id)
	s.shows(t, fixture.Page("/app/account/", own), "End all other sessions…</summary>",
		"in all other browsers: 2 sessions of", "End 2 other sessions")
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/sessions/end/", own, nil))
	s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", other))
	s.see(t, fixture.Page("/app/account/", own))
}

// Whoever finds a session that is not their own in the list ends it alone.
func TestSessionsAreListedAndEndedOneByOne(t *testing.T) {
	t.Parallel()
	s := setup(t, behindProxy)
	id := s.WithPassword(t)
	own := s.Session(t, id)
	signIn := func(address, agent string) string {
		return sessionOf(t, s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword).From(address).
			With("User-Agent", agent))).Value
	}
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
	stolen, other := signIn("203.0.113.7", firefox), signIn("203.0.113.8", hostile)
	s.Exec(t, `UPDATE sessions SET last_used_at = '2026-01-02T03:04:05Z' WHERE address = '203.0.113.7'`)
	html := s.see(t, fixture.Page("/app/account/", own))
	fixture.Shows(t, html, "Firefox on Linux", "203.0.113.7", "2026-01-02T03:04:05", "203.0.113.8", "&lt;script&gt;",
		"this one", "Sign out")
	fixture.Hides(t, html, "<script>alert")
	const idOf = `SELECT id::text FROM sessions WHERE digest = sha256($1::bytea)`
	end := func(session, by string) call {
		id := coretest.One[string](t, s.DB, idOf, []byte(session))
		return fixture.Post("/app/account/sessions/"+id+"/end/", by, nil)
	}
	// Neither one's own nor that of another user.
	s.Visit(t, http.StatusSeeOther, end(own, own))
	s.Visit(t, http.StatusSeeOther, end(stolen, s.Visitor(t, api.RoleOwner)))
	s.see(t, fixture.Page("/app/account/", own))
	s.see(t, fixture.Page("/app/account/", stolen))
	if !coretest.One[bool](t, s.DB, `SELECT last_used_at > now() - interval '1 minute' FROM sessions
		WHERE address = '203.0.113.7'`) {
		t.Error("the use of a session is not written")
	}
	again := end(stolen, own)
	s.Visit(t, http.StatusSeeOther, again)
	s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", stolen))
	s.see(t, fixture.Page("/app/account/", other))
	s.see(t, fixture.Page("/app/account/", own))
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	other, own := s.Session(t, id), s.Session(t, id)
	change := func(current, fresh, again string) call {
		return fixture.Post("/app/account/password/", own,
			url.Values{"current": {current}, "new": {fresh}, "again": {again}})
	}
	const fresh = "another long password"

	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, change("wrong", fresh, fresh)), "is not your password")
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, change(fixture.VisitorPassword, "short", "short")),
		"must have at least 12 characters")
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, change(fixture.VisitorPassword, fresh, "different")),
		"must be the same as new")
	s.see(t, fixture.Page("/app/account/", other))

	got := s.AnswerTo(t, change(fixture.VisitorPassword, fresh, fresh))
	for _, ended := range []string{other, own} {
		s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", ended))
	}
	s.see(t, fixture.Page("/app/account/", sessionOf(t, got).Value))
	s.Visit(t, http.StatusUnauthorized, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))
	s.Visit(t, http.StatusSeeOther, fixture.SignIn(fixture.VisitorEmail, fresh))
}

func TestRemovedMemberLosesThePagesAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.AddMember(t, "leaving", api.RoleAdmin)
	session := s.Session(t, id)
	s.see(t, harbour("tokens/", session))
	s.Exec(t, `UPDATE memberships SET role = 'viewer' WHERE user_id = $1`, id)
	s.Visit(t, http.StatusForbidden, harbour("audit/", session))
	s.Exec(t, `DELETE FROM memberships WHERE user_id = $1`, id)
	s.Visit(t, http.StatusNotFound, harbour("tokens/", session))
	s.shows(t, fixture.Page("/app/", session), "You belong to no organization yet")
}

func TestErrorsInsideAnOrganizationKeepItsNavigation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer, stranger := s.Visitor(t, api.RoleViewer), s.Stranger(t)
	for name, tt := range map[string]struct {
		call   call
		status int
	}{
		"NoSuchPage":   {harbour("made-up/page/", ""), http.StatusNotFound},
		"NoSuchThing":  {harbour("keys/made-up/", ""), http.StatusNotFound},
		"NoSuchMethod": {harbourForm("usage/", "", nil), http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := s.Visit(t, tt.status, tt.call.In(viewer))
			fixture.Shows(t, html, `<li><a href="`+fixture.HarbourPages+`keys/">`, `Idempotency</a></li>`)
			fixture.Hides(t, s.Visit(t, http.StatusNotFound, tt.call.In(stranger)), fixture.HarbourPages+"keys/\"",
				"Harbour Energy")
		})
	}
}
