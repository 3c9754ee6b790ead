package config_test

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	visitorEmail    = "visitor@harbour-energy.example"
	visitorPassword = "correct horse battery"
)

// withPassword adds a member of harbour who can sign in.
func (s *stage) withPassword(tb testing.TB) uuid.UUID {
	tb.Helper()
	id := s.addMember(tb, "visitor", core.RoleOwner)
	if err := s.Users.SetPassword(tb.Context(), id, visitorPassword); err != nil {
		tb.Fatal(err)
	}
	return id
}

func signIn(email, password string) call {
	return post("/app/sign-in/", "", url.Values{"email": {email}, "password": {password}, "next": {harbourPages}})
}

// sessionOf returns the cookie that an answer sets.
func sessionOf(tb testing.TB, got answer) *http.Cookie {
	tb.Helper()
	response := http.Response{Header: got.header}
	for _, cookie := range response.Cookies() {
		if cookie.Name == "sv_session" {
			return cookie
		}
	}
	tb.Fatalf("no session is set: %d %s", got.status, got.body)
	return nil
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.withPassword(t)

	t.Run("LeadsToThePageThatWasAskedFor", func(t *testing.T) {
		t.Parallel()
		got := s.answerTo(t, signIn(strings.ToUpper(visitorEmail), visitorPassword))
		if to := got.header.Get("Location"); got.status != http.StatusSeeOther || to != harbourPages {
			t.Fatalf("%d to %q, want 303 to %s", got.status, to, harbourPages)
		}
		cookie := sessionOf(t, got)
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/app/" || cookie.Secure {
			t.Errorf("cookie = %v, want HttpOnly, SameSite=Lax, for /app/, and not Secure over http", cookie)
		}
		s.visit(t, http.StatusOK, page("/app/account/", cookie.Value))
	})
	t.Run("KeepsTheCookieToEncryptedConnections", func(t *testing.T) {
		t.Parallel()
		got := s.answerTo(t, signIn(visitorEmail, visitorPassword).with("X-Forwarded-Proto", "https"))
		if !sessionOf(t, got).Secure {
			t.Error("the cookie is not Secure behind a proxy that says https")
		}
	})
	t.Run("AnswersTheSameWhateverIsWrong", func(t *testing.T) {
		t.Parallel()
		unknown := s.visit(t, http.StatusUnauthorized, signIn("nobody@harbour-energy.example", visitorPassword))
		wrong := s.visit(t, http.StatusUnauthorized, signIn(visitorEmail, "wrong password"))
		without := s.visit(t, http.StatusUnauthorized, signIn("owner@harbour-energy.example", ""))
		for _, html := range []string{unknown, wrong, without} {
			shows(t, html, "The e-mail address or the password is wrong.")
			hides(t, html, visitorPassword)
		}
		shows(t, wrong, `value="`+visitorEmail+`"`)
	})
	t.Run("LeadsToNoOtherSite", func(t *testing.T) {
		t.Parallel()
		for _, next := range []string{
			"https://evil.example/", "//evil.example/", `/app/\..`, "/api/me/", "javascript:1", "",
		} {
			c := signIn(visitorEmail, visitorPassword)
			c.body = url.Values{"email": {visitorEmail}, "password": {visitorPassword}, "next": {next}}.Encode()
			if to := s.answerTo(t, c).header.Get("Location"); to != "/app/" {
				t.Errorf("next = %q leads to %q, want /app/", next, to)
			}
		}
	})
	t.Run("RefusesOtherSites", func(t *testing.T) {
		t.Parallel()
		s.visit(t, http.StatusForbidden, signIn(visitorEmail, visitorPassword).with("Sec-Fetch-Site", "cross-site"))
	})
}

// wantWait checks that an answer tells people and programs when a password may be tried again.
func wantWait(tb testing.TB, got answer) {
	tb.Helper()
	after, err := strconv.Atoi(got.header.Get("Retry-After"))
	if err != nil || after < 1 || after > 6 {
		tb.Errorf("Retry-After = %q, want 1 to 6 seconds", got.header.Get("Retry-After"))
	}
	shows(tb, string(got.body), "Too many password attempts. Try again in "+core.Plural(after, "second")+".")
}

func TestGuessesOnTheAccountPageAreLimited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.session(t, s.withPassword(t))
	guess := post("/app/account/password/", session,
		url.Values{"current": {"guess"}, "new": {"a new password"}, "again": {"a new password"}})
	for range 100 {
		if got := s.answerTo(t, guess); got.status == http.StatusTooManyRequests {
			wantWait(t, got)
			return
		}
	}
	t.Fatal("100 guesses at once were all tried")
}

func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	// The limit of the address is that of the account as well here: all attempts are of one of each.
	for range 100 {
		got := s.answerTo(t, signIn("somebody@harbour-energy.example", "guess"))
		if got.status == http.StatusTooManyRequests {
			wantWait(t, got)
			return
		}
	}
	t.Fatal("100 guesses at once were all tried")
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.withPassword(t)
	start := func(t *testing.T, replaces string) string {
		t.Helper()
		return sessionOf(t, s.answerTo(t, signIn(visitorEmail, visitorPassword).in(replaces))).Value
	}

	t.Run("RotateAtEachSignIn", func(t *testing.T) {
		t.Parallel()
		first := start(t, "")
		second := start(t, first)
		if first == second {
			t.Fatal("the secret is the same")
		}
		s.visit(t, http.StatusSeeOther, page("/app/account/", first))
		s.visit(t, http.StatusOK, page("/app/account/", second))
	})
	t.Run("AreNotChosenByOthers", func(t *testing.T) {
		t.Parallel()
		if got := start(t, "sv_planted"); got == "sv_planted" {
			t.Error("the session has the secret that came with the request")
		}
		s.visit(t, http.StatusSeeOther, page("/app/account/", "sv_planted"))
	})
	t.Run("EndBySigningOut", func(t *testing.T) {
		t.Parallel()
		session := start(t, "")
		got := s.answerTo(t, post("/app/sign-out/", session, nil))
		wantHeader(t, got, map[string]string{"Clear-Site-Data": `"cache"`, "Location": "/app/sign-in/"})
		s.visit(t, http.StatusSeeOther, page("/app/account/", session))
	})
	t.Run("LastLongerWhileTheyAreUsedAndEndAfterAWeek", func(t *testing.T) {
		t.Parallel()
		session := s.session(t, id)
		s.visit(t, http.StatusOK, page("/app/account/", session))
		const left = `SELECT extract(epoch FROM expires_at - now())::float8 / 3600 FROM sessions
			WHERE digest = sha256($1)`
		if hours := one[float64](t, s, left, []byte(session)); hours < 11.9 || hours > 12 {
			t.Errorf("the session lasts %.2f h more, want 12", hours)
		}
		s.exec(t, `UPDATE sessions
			SET created_at = now() - interval '6 days 23 hours', expires_at = now() + interval '1 minute'
			WHERE digest = sha256($1)`, []byte(session))
		s.visit(t, http.StatusOK, page("/app/account/", session))
		if hours := one[float64](t, s, left, []byte(session)); hours < 0.9 || hours > 1 {
			t.Errorf("the session lasts %.2f h more, want what remains of its week: 1", hours)
		}
	})
	t.Run("ArePurgedWhenTheyHaveEnded", func(t *testing.T) {
		t.Parallel()
		ended, running := s.session(t, id), s.session(t, id)
		s.exec(t, `UPDATE sessions SET expires_at = now() WHERE digest = sha256($1)`, []byte(ended))
		if _, err := s.Users.PurgeSessions(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		const exists = `SELECT EXISTS (SELECT FROM sessions WHERE digest = sha256($1))`
		if one[bool](t, s, exists, []byte(ended)) || !one[bool](t, s, exists, []byte(running)) {
			t.Error("the ended session is there or the running one is not")
		}
	})
}

func TestOtherSessionsEndAfterAWordOnIt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.addMember(t, "visitor", core.RoleViewer)
	own := s.session(t, id)
	hides(t, s.visit(t, http.StatusOK, page("/app/account/", own)), "End all other sessions")
	other := s.session(t, id)
	s.session(t, id)
	shows(t, s.visit(t, http.StatusOK, page("/app/account/", own)),
		"End all other sessions…</summary>", "in all other browsers: 2 sessions of", "End 2 other sessions")
	s.visit(t, http.StatusSeeOther, post("/app/account/sessions/end/", own, nil))
	s.visit(t, http.StatusSeeOther, page("/app/account/", other))
	s.visit(t, http.StatusOK, page("/app/account/", own))
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.withPassword(t)
	other, own := s.session(t, id), s.session(t, id)
	change := func(current, fresh, again string) call {
		return post("/app/account/password/", own, url.Values{"current": {current}, "new": {fresh}, "again": {again}})
	}
	const fresh = "another long password"

	shows(t, s.visit(t, http.StatusBadRequest, change("wrong", fresh, fresh)), "is not your password")
	shows(t, s.visit(t, http.StatusBadRequest, change(visitorPassword, "short", "short")), "must be at least 12")
	shows(t, s.visit(t, http.StatusBadRequest, change(visitorPassword, fresh, "different")), "must be the same as new")
	s.visit(t, http.StatusOK, page("/app/account/", other))

	got := s.answerTo(t, change(visitorPassword, fresh, fresh))
	for _, ended := range []string{other, own} {
		s.visit(t, http.StatusSeeOther, page("/app/account/", ended))
	}
	s.visit(t, http.StatusOK, page("/app/account/", sessionOf(t, got).Value))
	s.visit(t, http.StatusUnauthorized, signIn(visitorEmail, visitorPassword))
	s.visit(t, http.StatusSeeOther, signIn(visitorEmail, fresh))
}

func TestRemovedMemberLosesThePagesAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.addMember(t, "leaving", core.RoleAdmin)
	session := s.session(t, id)
	s.visit(t, http.StatusOK, page(harbourPages+"tokens/", session))
	s.exec(t, `UPDATE memberships SET role = 'viewer' WHERE user_id = $1`, id)
	s.visit(t, http.StatusForbidden, page(harbourPages+"audit/", session))
	s.exec(t, `DELETE FROM memberships WHERE user_id = $1`, id)
	s.visit(t, http.StatusNotFound, page(harbourPages+"tokens/", session))
	shows(t, s.visit(t, http.StatusOK, page("/app/", session)), "You belong to no organization yet")
}

func TestErrorsInsideAnOrganizationKeepItsNavigation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer, stranger := s.visitor(t, core.RoleViewer), s.stranger(t)
	for name, tt := range map[string]struct {
		call   call
		status int
	}{
		"NoSuchPage":   {page(harbourPages+"made-up/page/", ""), http.StatusNotFound},
		"NoSuchThing":  {page(harbourPages+"keys/made-up/", ""), http.StatusNotFound},
		"NoSuchMethod": {post(harbourPages+"usage/", "", nil), http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := s.visit(t, tt.status, tt.call.in(viewer))
			shows(t, html, `<li><a href="`+harbourPages+`keys/">Idempotency</a></li>`)
			hides(t, s.visit(t, http.StatusNotFound, tt.call.in(stranger)), harbourPages+"keys/\"", "Harbour Energy")
		})
	}
}
