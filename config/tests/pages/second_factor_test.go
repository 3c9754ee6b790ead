package pages

import (
	"encoding/base32"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp/totp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

// recoveryCode is one on the page that shows them.
var recoveryCode = regexp.MustCompile(`<li>([a-z2-7-]{19})</li>`)

// authenticator is the app of a user.
type authenticator struct {
	secret   string
	recovery []string
}

// stopClock keeps the clock of the database at so many seconds after the last full minute, if it goes. However long a
// test takes, no step of 30 seconds ends between the code that it reads from the app and the answer to it.
func (s *stage) stopClock(tb testing.TB, seconds float64) {
	tb.Helper()
	if s.clockStands {
		return
	}
	s.clockStands = true
	database := pgx.Identifier{coretest.One[string](tb, s.DB, `SELECT current_database()`)}.Sanitize()
	present := coretest.One[string](tb, s.DB,
		`SELECT quote_literal(date_trunc('minute', now()) + make_interval(secs => $1))`, seconds)
	s.Exec(tb, `CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE
		AS $$ SELECT timestamptz `+present+` $$`)
	s.Exec(tb, `ALTER DATABASE `+database+` SET search_path = public, pg_catalog`)
	s.DB.Pool.Reset() // New connections have the setting.
}

// code is what the app shows at the time of the database, which it stops, or some steps of 30 seconds away from it. The
// tests of an app go forward in steps, because each code counts once.
func (s *stage) code(tb testing.TB, app authenticator, steps int) string {
	tb.Helper()
	s.stopClock(tb, 0)
	now := coretest.One[time.Time](tb, s.DB, `SELECT now()`)
	code, err := totp.GenerateCode(app.secret, now.Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		tb.Fatal(err)
	}
	return code
}

// pending stops the clock and begins to set up an authenticator app for the user of a session.
func (s *stage) pending(tb testing.TB, session string) authenticator {
	tb.Helper()
	s.stopClock(tb, 0)
	const page = "/app/account/second-factor/"
	s.Visit(tb, http.StatusSeeOther, fixture.Post(page, session, nil))
	html := s.see(tb, fixture.Page(page, session))
	key := regexp.MustCompile(`id="factor-key">([A-Z2-7 ]+)<`).FindStringSubmatch(html)
	if key == nil {
		tb.Fatalf("no key in %s", html)
	}
	fixture.Shows(tb, html, `<path d="M`)
	return authenticator{secret: strings.ReplaceAll(key[1], " ", "")}
}

// enrolled sets up an authenticator app for the user of a session.
func (s *stage) enrolled(tb testing.TB, session string) authenticator {
	tb.Helper()
	app := s.pending(tb, session)
	s.Visit(tb, http.StatusBadRequest, confirming(session, s.code(tb, app, 5)))
	shown := s.Visit(tb, http.StatusCreated, confirming(session, s.code(tb, app, -1)))
	for _, match := range recoveryCode.FindAllStringSubmatch(shown, -1) {
		app.recovery = append(app.recovery, match[1])
	}
	if len(app.recovery) != 10 {
		tb.Fatalf("recovery codes = %d, want 10: %s", len(app.recovery), shown)
	}
	return app
}

func confirming(session, code string) call {
	return fixture.Post("/app/account/second-factor/confirm/", session, url.Values{"code": {code}})
}

// entering enters a code behind the password, in the browser with the cookie.
func entering(step, code string) call {
	return fixture.Post("/app/sign-in/code/", "", url.Values{"code": {code}}).With("Cookie", "sv_sign_in="+step)
}

// passed gives the password and returns the cookie of the step that waits for the code.
func (s *stage) passed(tb testing.TB) string {
	tb.Helper()
	return s.passedBy(tb, fixture.VisitorEmail)
}

func (s *stage) passedBy(tb testing.TB, email string) string {
	tb.Helper()
	got := s.AnswerTo(tb, fixture.SignIn(email, fixture.VisitorPassword))
	if to := got.Header.Get("Location"); got.Status != http.StatusSeeOther || to != "/app/sign-in/code/" {
		tb.Fatalf("%d to %q, want 303 to the code", got.Status, to)
	}
	for _, cookie := range (&http.Response{Header: got.Header}).Cookies() {
		if cookie.Name == "sv_session" {
			tb.Fatal("the password alone has begun a session")
		}
		if cookie.Name == "sv_sign_in" {
			return cookie.Value
		}
	}
	tb.Fatal("no cookie for the code")
	return ""
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()

	t.Run("IsAskedForBehindThePassword", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		app := s.enrolled(t, s.Session(t, s.WithPassword(t)))
		step := s.passed(t)
		s.see(t, fixture.Page("/app/sign-in/code/", ""))
		s.Visit(t, http.StatusBadRequest, entering(step, s.code(t, app, 5)))
		s.Visit(t, http.StatusUnauthorized, entering("sv_made-up", s.code(t, app, 0)))
		got := s.AnswerTo(t, entering(step, s.code(t, app, 0)))
		if to := got.Header.Get("Location"); to != fixture.HarbourPages {
			t.Fatalf("%d to %q, want %s: %s", got.Status, to, fixture.HarbourPages, got.Body)
		}
		s.see(t, fixture.Page("/app/account/", sessionOf(t, got).Value))
		// The step is used up, and the code, too.
		s.Visit(t, http.StatusUnauthorized, entering(step, s.code(t, app, 1)))
		again := s.passed(t)
		s.Visit(t, http.StatusBadRequest, entering(again, s.code(t, app, 0)))
		s.Visit(t, http.StatusBadRequest, entering(again, s.code(t, app, -1)))
		s.Visit(t, http.StatusSeeOther, entering(again, s.code(t, app, 1)))
		if n := coretest.One[int64](t, s.DB,
			`SELECT count(*) FROM audit_records WHERE action = 'second_factor.refuse'`); n != 3 {
			t.Errorf("refusals in the audit log = %d, want 3", n)
		}
	})

	t.Run("AcceptsOneCodeOnceFromTwoAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		app := s.enrolled(t, s.Session(t, s.WithPassword(t)))
		code := s.code(t, app, 0)
		calls := []call{entering(s.passed(t), code), entering(s.passed(t), code), entering(s.passed(t), code)}
		if got := s.AtOnce(t, calls); got[http.StatusSeeOther] != 1 {
			t.Errorf("answers = %v, want one 303", got)
		}
	})

	t.Run("TakesEachRecoveryCodeOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		session := s.Session(t, s.WithPassword(t))
		app := s.enrolled(t, session)
		typed := strings.ToUpper(strings.ReplaceAll(app.recovery[0], "-", " "))
		s.Visit(t, http.StatusSeeOther, entering(s.passed(t), typed))
		s.Visit(t, http.StatusBadRequest, entering(s.passed(t), app.recovery[0]))
		s.shows(t, fixture.Page("/app/account/", session), "9 recovery codes")
		if coretest.One[bool](t, s.DB, `SELECT f::text ILIKE $1 FROM second_factors AS f`,
			"%"+strings.ReplaceAll(app.recovery[1], "-", "")+"%") {
			t.Error("the database has a recovery code")
		}
		s.Visit(t, http.StatusCreated, fixture.Post("/app/account/second-factor/codes/", session, nil))
		s.Visit(t, http.StatusBadRequest, entering(s.passed(t), app.recovery[1]))
	})

	t.Run("LimitsGuesses", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		app := s.enrolled(t, s.Session(t, s.WithPassword(t)))
		step := s.passed(t)
		for range 5 {
			s.Visit(t, http.StatusBadRequest, entering(step, s.code(t, app, 7)))
		}
		// No code is looked at for a while, whatever process is asked.
		right := entering(step, s.code(t, app, 0))
		got := s.AnswerTo(t, right)
		if got.Status != http.StatusTooManyRequests || !strings.Contains(string(got.Body), "Too many wrong codes") ||
			got.Header.Get("Retry-After") == "" {
			t.Fatalf("status = %d, want 429 with the time to wait: %s", got.Status, got.Body)
		}
		// Whoever has the password alone does not keep the owner out by wrong codes.
		other := s.passed(t)
		s.Visit(t, http.StatusBadRequest, entering(other, "aaaa-aaaa-aaaa-aaaa"))
		s.Visit(t, http.StatusTooManyRequests, entering(other, s.code(t, app, 7)))
		s.Visit(t, http.StatusSeeOther, entering(other, app.recovery[0]))
		for range 5 {
			s.Visit(t, http.StatusBadRequest, entering(step, s.code(t, app, 7)))
		}
		s.Visit(t, http.StatusTooManyRequests, right)
		s.Exec(t, `UPDATE second_factors SET failed_at = now() - interval '1 minute'`)
		s.Visit(t, http.StatusSeeOther, right)
	})

	t.Run("IsNotAskedForUntilItIsConfirmed", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		session := s.Session(t, s.WithPassword(t))
		s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/second-factor/", session, nil))
		sessionOf(t, s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword)))
	})

	t.Run("IsRemovedByItsUserAndByAdministrators", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id := s.WithPassword(t)
		session := s.Session(t, id)
		remove := map[string]func(){
			"ByItsUser": func() {
				s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/second-factor/remove/", session, nil))
			},
			"ByAnOwner": func() {
				path := fixture.HarbourPages + "members/" + id.String() + "/second-factor/remove/"
				s.Visit(t, http.StatusSeeOther, fixture.Post(path, s.Visitor(t, api.RoleOwner), nil))
			},
			"ByTheOperator": func() {
				if err := s.Users.Factors.RemoveOf(t.Context(), fixture.VisitorEmail); err != nil {
					t.Fatal(err)
				}
			},
		}
		for name, do := range remove {
			s.enrolled(t, session)
			s.passed(t)
			do()
			if got := s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword)); got.Header.Get(
				"Location") != fixture.HarbourPages {
				t.Errorf("%s: a code is still asked for", name)
			}
		}
		if n := coretest.One[int64](t, s.DB,
			`SELECT count(*) FROM audit_records WHERE action = 'second_factor.remove'`); n != 3 {
			t.Errorf("removals in the audit log = %d, want 3", n)
		}
	})
}

// At the end of a step, the code of the step before is accepted as at its begin.
func TestStepOfASecondFactorEndsAfterItsLastHalfSecond(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.stopClock(t, 29.6)
	s.enrolled(t, s.Session(t, s.WithPassword(t)))
}

// A password link does not get anybody past the second factor.
func TestSecondFactorOutlivesThePassword(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	s.enrolled(t, s.Session(t, id))
	waiting := s.passed(t)
	s.Visit(t, http.StatusSeeOther, setting(s.passwordLink(t, s.Visitor(t, api.RoleOwner), id), newPassword))
	got := s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, newPassword))
	if to := got.Header.Get("Location"); to != "/app/sign-in/code/" {
		t.Errorf("the new password leads to %q, want the code", to)
	}
	// A sign-in with the password so far gets no further.
	s.Visit(t, http.StatusUnauthorized, entering(waiting, "123456"))
}

func TestSecretsOfSecondFactors(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	app := s.enrolled(t, s.Session(t, id))
	if coretest.One[bool](t, s.DB, `SELECT position($1::bytea IN sealed) > 0 FROM second_factors`, []byte(app.secret)) {
		t.Error("a secret lies in the database in clear")
	}
	// Copied to another user, the secret is of no use.
	other := s.AddMember(t, "other", api.RoleViewer)
	s.Exec(t, `INSERT INTO second_factors (user_id, sealed, confirmed_at) SELECT $1, sealed, now() FROM second_factors`,
		other)
	if err := s.Users.SignIn.SetPassword(t.Context(), other, newPassword); err != nil {
		t.Fatal(err)
	}
	got := s.AnswerTo(t, fixture.SignIn("other@harbour-energy.example", newPassword))
	step := (&http.Response{Header: got.Header}).Cookies()[0].Value
	s.Visit(t, http.StatusServiceUnavailable, entering(step, s.code(t, app, 0)))
	s.Exec(t, `DELETE FROM second_factors WHERE user_id = $1`, other)

	// After "secrets rotate" the old key is not needed any more.
	fresh := keyring.Generate()
	c := s.Console(t)
	c.Environ = append(c.Environ, "SV_SECRET_KEY="+fresh+","+fixture.SecretKey)
	c.Must(t, "secrets", "rotate")
	sealed := coretest.One[[]byte](t, s.DB, `SELECT sealed FROM second_factors`)
	ring, err := keyring.Parse(fresh)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := ring.Open(sealed, keyring.Binding{OrgID: id, Column: "second_factors.sealed"})
	if got := base32.StdEncoding.EncodeToString(secret); err != nil || got != app.secret {
		t.Errorf("under the new key alone: %v, want the secret", err)
	}
}

func TestSecondFactorIsRequired(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Visitor(t, api.RoleOwner)
	require := harbourForm("settings/", owner, url.Values{
		"name": {"Harbour Energy"}, "second_factor_required": {"true"},
	})
	s.shows(t, fixture.Page(fixture.HarbourPages+"members/", owner), "no second factor")
	fixture.Shows(t, s.Visit(t, http.StatusForbidden, require), "Set up a second factor for your own account")
	s.enrolled(t, owner)
	id := s.WithPassword(t)
	session := s.Session(t, id)
	s.Exec(t, `INSERT INTO memberships (org_id, user_id, role) VALUES ($1, $2, 'viewer')`, s.Tiny.ID, id)
	s.see(t, fixture.Page(fixture.HarbourPages, session))
	s.Visit(t, http.StatusSeeOther, require)
	s.see(t, fixture.Page(fixture.HarbourPages, owner))

	// The member signs in, and can do nothing there but get a second factor or leave.
	session = sessionOf(t, s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))).Value
	for _, c := range []call{
		fixture.Page(fixture.HarbourPages, session), fixture.Page(fixture.HarbourPages+"runs/", session),
		fixture.Page(fixture.HarbourPages+"no-such-page/", session), harbourForm("tokens/", session, nil),
	} {
		fixture.Shows(t, s.Visit(t, http.StatusForbidden, c), "Harbour Energy requires a second factor",
			`href="/app/account/second-factor/"`)
	}
	s.see(t, fixture.Page("/app/orgs/tiny-quota/", session))
	s.shows(t, fixture.Page("/app/account/", session), "requires a second factor")
	s.enrolled(t, session)
	s.see(t, fixture.Page(fixture.HarbourPages, session))
	s.shows(t, fixture.Page("/app/account/", session), "Harbour Energy requires a second factor: you and your tokens")
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/second-factor/remove/", session, nil))
	s.Visit(t, http.StatusForbidden, fixture.Page(fixture.HarbourPages, session))
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/organizations/harbour-energy/leave/", session, nil))
	coretest.WantRow(t, s.DB, coretest.Row{"records": "1"}, `SELECT count(*) AS records FROM audit_records
		WHERE action = 'organization.change' AND detail LIKE '%optional,% -> % a second factor is required,%'`)
}
