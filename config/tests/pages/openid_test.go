package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// begin sends a browser to the provider, and returns the address there and the cookie that it got.
func (p *provider) begin(tb testing.TB, query, session string) (string, string) {
	tb.Helper()
	got := p.AnswerTo(tb, fixture.Page("/app/sign-in/provider/?"+query, session))
	to := got.Header.Get("Location")
	if got.Status != http.StatusSeeOther || !strings.HasPrefix(to, p.issuer) {
		tb.Fatalf("%d to %q, want 303 to the provider: %s", got.Status, to, got.Body)
	}
	for _, cookie := range (&http.Response{Header: got.Header}).Cookies() {
		if cookie.Name == "sv_provider" {
			return to, cookie.Value
		}
	}
	tb.Fatal("no cookie for the way back")
	return "", ""
}

// back is the browser with the cookie on its way back.
func back(address *url.URL, cookie, session string) call {
	return call{Path: address.RequestURI()}.With("Cookie", "sv_provider="+cookie+"; sv_session="+session)
}

// come signs somebody in.
func (p *provider) come(tb testing.TB, user claimant) answer {
	tb.Helper()
	address, cookie := p.begin(tb, "next=%2Fapp%2Faccount%2F", "")
	return p.AnswerTo(tb, back(p.visit(tb, address, user), cookie, ""))
}

// wantRefused checks that somebody is not signed in, and why.
func wantRefused(tb testing.TB, got answer, status int, why string) {
	tb.Helper()
	if got.Status != status || !strings.Contains(string(got.Body), why) {
		tb.Errorf("%d %s, want %d with %q", got.Status, got.Body, status, why)
	}
	for _, cookie := range (&http.Response{Header: got.Header}).Cookies() {
		if cookie.Name == "sv_session" && cookie.Value != "" {
			tb.Error("a session has begun")
		}
	}
}

func TestOpenID(t *testing.T) {
	t.Parallel()
	kim := claimant{subject: "kim-1", email: "Kim@b.example"}

	t.Run("MakesAnAccountAndFindsItAgainBySubject", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		p.shows(t, fixture.Page("/app/sign-in/", ""), "Sign in with 127.0.0.1")
		got := p.come(t, kim)
		if to := got.Header.Get("Location"); to != "/app/account/" {
			t.Fatalf("%d to %q, want the account: %s", got.Status, to, got.Body)
		}
		p.shows(t, fixture.Page("/app/account/", sessionOf(t, got).Value), "kim@b.example")
		renamed := kim
		renamed.email = "kim.new@b.example"
		sessionOf(t, p.come(t, renamed))
		if n := coretest.One[int64](t, p.DB, `SELECT count(*) FROM users WHERE email LIKE 'kim%'`); n != 1 {
			t.Errorf("accounts = %d, want 1", n)
		}
	})

	t.Run("LinksAnAccountWhoseAddressIsConfirmed", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t, func(settings *config.Settings) {
			settings.SMTPURL, settings.MailFrom = "smtp://127.0.0.1:1", "Validations <from@validations.example>"
		})
		id := p.WithPassword(t)
		p.Exec(t, `DELETE FROM mails`)
		sessionOf(t, p.come(t, claimant{subject: "v", email: fixture.VisitorEmail}))
		coretest.WantRow(t, p.DB, coretest.Row{"kind": "notice", "recipient": fixture.VisitorEmail},
			`SELECT kind, recipient FROM mails`)
		if owner := coretest.One[uuid.UUID](t, p.DB, `SELECT user_id FROM identities`); owner != id {
			t.Errorf("linked to %s, want %s", owner, id)
		}
		// The provider has given the address to somebody else.
		wantRefused(t, p.come(t, claimant{subject: "w", email: fixture.VisitorEmail}), http.StatusForbidden,
			"another account of the provider")
		if err := p.Users.SignIn.Unlink(t.Context(), fixture.VisitorEmail); err != nil {
			t.Fatal(err)
		}
		sessionOf(t, p.come(t, claimant{subject: "w", email: fixture.VisitorEmail}))
	})

	t.Run("AsksForTheSecondFactorToo", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		app := p.enrolled(t, p.Session(t, p.WithPassword(t)))
		got := p.come(t, claimant{subject: "v", email: fixture.VisitorEmail})
		if to := got.Header.Get("Location"); to != "/app/sign-in/code/" {
			t.Fatalf("%d to %q, want the code", got.Status, to)
		}
		// Whom the provider sends is not linked before the code was right.
		const linked = `SELECT count(*) FROM identities`
		if n := coretest.One[int64](t, p.DB, linked); n != 0 {
			t.Errorf("identities before the code = %d, want 0", n)
		}
		for _, cookie := range (&http.Response{Header: got.Header}).Cookies() {
			if cookie.Name == "sv_sign_in" {
				p.Visit(t, http.StatusSeeOther, entering(cookie.Value, p.code(t, app, 0)))
			}
		}
		if n := coretest.One[int64](t, p.DB, linked+` WHERE subject = 'v'`); n != 1 {
			t.Errorf("identities after the code = %d, want 1", n)
		}
	})

	t.Run("RefusesWhomTheInstallationDoesNotWant", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t, func(settings *config.Settings) {
			settings.OIDCDomains, settings.OIDCCreateUsers = []string{"harbour-energy.example"}, false
		})
		wantRefused(t, p.come(t, kim), http.StatusForbidden, "Addresses of b.example may not sign in here")
		stranger := claimant{subject: "s", email: "stranger@harbour-energy.example"}
		wantRefused(t, p.come(t, stranger), http.StatusForbidden, "There is no account with your address")
		id := p.WithPassword(t)
		visitor := claimant{subject: "v", email: fixture.VisitorEmail}
		unverified := visitor
		unverified.unverified = true
		wantRefused(t, p.come(t, unverified), http.StatusForbidden, "has not verified your e-mail address")
		sessionOf(t, p.come(t, visitor))
		if err := p.Users.SetDisabled(t.Context(), id, true, ""); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, p.come(t, visitor), http.StatusUnauthorized, "Your account is disabled")
	})
}

func TestOpenIDAttacks(t *testing.T) {
	t.Parallel()
	kim := claimant{subject: "kim-1", email: "kim@b.example"}
	with := func(change func(map[string]any)) claimant {
		changed := kim
		changed.change = change
		return changed
	}

	t.Run("Tokens", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		for why, change := range map[string]func(map[string]any){
			"belongs to another sign-in": func(c map[string]any) { c["nonce"] = "of-another" },
			"is not valid":               func(c map[string]any) { c["aud"] = "another-service" },
			"is not valid. Begin":        func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
			"is not valid. Begin again":  func(c map[string]any) { c["iss"] = "https://evil.example" },
		} {
			wantRefused(t, p.come(t, with(change)), http.StatusUnauthorized, why)
		}
		for why, change := range map[string]func(map[string]any){
			"cannot be read":         func(c map[string]any) { c["email"] = "kim\x00@b.example" },
			"cannot be read.":        func(c map[string]any) { c["sub"] = "kim\x00" },
			"is for another service": func(c map[string]any) { c["aud"] = []string{clientID, "another-service"} },
		} {
			wantRefused(t, p.come(t, with(change)), http.StatusUnauthorized, why)
		}
		missing := with(func(c map[string]any) { delete(c, "email_verified") })
		wantRefused(t, p.come(t, missing), http.StatusForbidden, "has not verified")
	})

	t.Run("StateOfAnotherBrowser", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		address, _ := p.begin(t, "", "")
		_, other := p.begin(t, "", "")
		answered := p.visit(t, address, kim)
		for _, cookie := range []string{other, "", "sv_made-up"} {
			wantRefused(t, p.AnswerTo(t, back(answered, cookie, "")), http.StatusUnauthorized, "in another browser")
		}
	})

	t.Run("ReplayedAnswer", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		address, cookie := p.begin(t, "", "")
		answered := p.visit(t, address, claimant{subject: "lee", email: "lee@b.example"})
		sessionOf(t, p.AnswerTo(t, back(answered, cookie, "")))
		wantRefused(t, p.AnswerTo(t, back(answered, cookie, "")), http.StatusUnauthorized, "Begin again")
		// The code of one flow in the answer of another.
		address, cookie = p.begin(t, "", "")
		fresh := p.visit(t, address, kim)
		query := fresh.Query()
		query.Set("code", answered.Query().Get("code"))
		fresh.RawQuery = query.Encode()
		wantRefused(t, p.AnswerTo(t, back(fresh, cookie, "")), http.StatusUnauthorized, "was used before")
	})

	t.Run("CodeOfAnotherBrowser", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		address, _ := p.begin(t, "", "")
		stolen := p.visit(t, address, kim).Query().Get("code")
		address, cookie := p.begin(t, "", "")
		own := p.visit(t, address, kim)
		query := own.Query()
		query.Set("code", stolen)
		own.RawQuery = query.Encode()
		// The thief's verifier is not that of the flow that the code belongs to (PKCE).
		wantRefused(t, p.AnswerTo(t, back(own, cookie, "")), http.StatusUnauthorized, "Begin again")
	})

	t.Run("TooLate", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		address, cookie := p.begin(t, "", "")
		answered := p.visit(t, address, kim)
		p.Exec(t, `UPDATE sign_in_steps SET expires_at = now() WHERE digest = sha256($1::bytea)`, []byte(cookie))
		wantRefused(t, p.AnswerTo(t, back(answered, cookie, "")), http.StatusUnauthorized, "too long ago")
	})
}

func TestOpenIDProof(t *testing.T) {
	t.Parallel()
	p := setupProvider(t)
	asked := func(at time.Time) claimant {
		return claimant{subject: "v", email: fixture.VisitorEmail, change: func(c map[string]any) {
			if !at.IsZero() {
				c["auth_time"] = at.Unix()
			}
		}}
	}
	p.WithPassword(t)
	session := sessionOf(t, p.come(t, asked(time.Now()))).Value
	p.Exec(t, `UPDATE users SET password_hash = '' WHERE email = $1`, fixture.VisitorEmail)
	p.Exec(t, `UPDATE sessions SET proved_at = NULL`)
	fields := url.Values{"email": {"a@b.example"}, "role": {"admin"}}
	form := harbourForm("members/", session, fields).
		With("Referer", "http://validations.example"+fixture.HarbourPages+"members/")
	html := p.Visit(t, http.StatusForbidden, form)
	fixture.Shows(t, html, "Sign in again at your provider")
	fixture.Hides(t, html, "proof-password")
	prove := func(user claimant) answer {
		address, cookie := p.begin(t, "again=1&next="+url.QueryEscape(fixture.HarbourPages+"members/"), session)
		if !strings.Contains(address, "prompt=login") || !strings.Contains(address, "max_age=0") {
			t.Errorf("%s does not demand the password", address)
		}
		return p.AnswerTo(t, back(p.visit(t, address, user), cookie, session))
	}
	somebody := asked(time.Now())
	somebody.subject = "other"
	wantRefused(t, prove(somebody), http.StatusForbidden, "as somebody else")
	wantRefused(t, prove(asked(time.Now().Add(-time.Hour))), http.StatusForbidden, "has not asked for your password")
	wantRefused(t, prove(asked(time.Now().Add(time.Hour))), http.StatusForbidden, "has not asked for your password")
	wantRefused(t, prove(asked(time.Time{})), http.StatusForbidden, "has not asked for your password")
	p.Visit(t, http.StatusForbidden, form)
	if to := prove(asked(time.Now())).Header.Get("Location"); to != fixture.HarbourPages+"members/" {
		t.Errorf("the proof leads to %q, want the members", to)
	}
	p.Visit(t, http.StatusCreated, form)
	p.Visit(t, http.StatusSeeOther, fixture.Page("/app/sign-in/provider/?again=1", "sv_made-up"))
}

// Of a user who is deleted nothing stays in the tables of this page's ways to sign in.
func TestDeletedUser(t *testing.T) {
	t.Parallel()
	p := setupProvider(t)
	id := p.WithPassword(t)
	sessionOf(t, p.come(t, claimant{subject: "v", email: fixture.VisitorEmail}))
	p.passwordLink(t, p.Visitor(t, api.RoleOwner), id)
	p.enrolled(t, p.Session(t, id))
	p.passed(t)
	p.Exec(t, `INSERT INTO mails (id, kind, recipient) VALUES (gen_random_uuid(), 'forgotten', $1)`,
		fixture.VisitorEmail)
	const rows = `SELECT concat_ws(' ', (SELECT count(*) FROM sessions WHERE user_id = $1),
		(SELECT count(*) FROM password_links WHERE user_id = $1),
		(SELECT count(*) FROM second_factors WHERE user_id = $1),
		(SELECT count(*) FROM identities WHERE user_id = $1), (SELECT count(*) FROM sign_in_steps WHERE user_id = $1),
		(SELECT count(*) FROM mails WHERE recipient = $2))`
	if got := coretest.One[string](t, p.DB, rows, id, fixture.VisitorEmail); got != "2 1 1 1 1 1" {
		t.Fatalf("rows before = %s, want some in each table", got)
	}
	if err := p.Users.DeleteUser(t.Context(), fixture.VisitorEmail); err != nil {
		t.Fatal(err)
	}
	if got := coretest.One[string](t, p.DB, rows, id, fixture.VisitorEmail); got != "0 0 0 0 0 0" {
		t.Errorf("rows after = %s, want none", got)
	}
}

// A provider that is away, or none at all, leaves the password.
func TestOpenIDWithoutAProvider(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) {
		settings.BaseURL = "http://validations.example"
		settings.OIDCIssuer = "http://" + coretest.FreeAddress(t)
		settings.OIDCClientID, settings.OIDCClientSecret = "id", "secret"
	})
	s.WithPassword(t)
	got := s.AnswerTo(t, fixture.Page("/app/sign-in/provider/", ""))
	wantRefused(t, got, http.StatusServiceUnavailable, "or sign in with your password")
	s.Visit(t, http.StatusSeeOther, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))

	without := setup(t)
	for _, path := range []string{"/app/sign-in/provider/", "/app/sign-in/provider/callback/?code=x&state=y"} {
		without.Visit(t, http.StatusNotFound, fixture.Page(path, ""))
	}
	fixture.Hides(t, without.Visit(t, http.StatusOK, fixture.Page("/app/sign-in/", "")), "Sign in with")
}
