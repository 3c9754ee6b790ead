package pages

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// squatted is an account that somebody else has made for an address, with an authenticator app, an account at the
// provider and a token. It returns the session and the token of that person.
func (s *stage) squatted(tb testing.TB) (uuid.UUID, string, string) {
	tb.Helper()
	id := s.WithPassword(tb)
	s.Exec(tb, `UPDATE users SET address_confirmed = false WHERE id = $1`, id)
	session := s.Session(tb, id)
	s.Exec(tb, `INSERT INTO identities (issuer, subject, user_id) VALUES ('https://b.example', 'squatter', $1)`, id)
	s.enrolled(tb, session)
	return id, session, s.TokenOf(tb, id, api.RoleViewer)
}

// wantCleared checks that nothing of the person is left who had made the account.
func (s *stage) wantCleared(tb testing.TB, id uuid.UUID, session, token string) {
	tb.Helper()
	s.Visit(tb, http.StatusSeeOther, fixture.Page("/app/account/", session))
	s.Refused(tb, api.CodeNotAuthenticated, call{Path: "/api/me/", Token: token})
	coretest.WantRow(tb, s.DB, coretest.Row{
		"confirmed": "t", "factors": "0", "foreign": "0", "records": "1",
	}, `SELECT address_confirmed AS confirmed,
			(SELECT count(*) FROM second_factors WHERE user_id = u.id) AS factors,
			(SELECT count(*) FROM identities WHERE user_id = u.id AND subject = 'squatter') AS foreign,
			(SELECT count(*) FROM audit_records WHERE target_id = u.id::text AND action = 'user.claim') AS records
		FROM users AS u WHERE id = $1`, id)
}

// Whoever is the first to prove an address gets the account without what others have left on it.
func TestSquattedAccount(t *testing.T) {
	t.Parallel()

	t.Run("ByMail", func(t *testing.T) {
		t.Parallel()
		s, m := setupMail(t)
		id, session, token := s.squatted(t)
		s.Visit(t, http.StatusOK, forgetting(fixture.VisitorEmail))
		link := s.wantLetter(t, m, fixture.VisitorEmail, "password")
		s.Visit(t, http.StatusSeeOther, setting(link, newPassword))
		s.wantCleared(t, id, session, token)
		sessionOf(t, s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, newPassword)))
		// The second proof takes nothing more away.
		app := s.enrolled(t, s.Session(t, id))
		s.Visit(t, http.StatusOK, forgetting(fixture.VisitorEmail))
		s.Visit(t, http.StatusSeeOther, setting(s.wantLetter(t, m, fixture.VisitorEmail, "password"), newPassword))
		if got := s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, newPassword)); app.secret == "" ||
			got.Header.Get("Location") != "/app/sign-in/code/" {
			t.Errorf("sign-in = %d to %q, want the code", got.Status, got.Header.Get("Location"))
		}
	})

	t.Run("AtTheProvider", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		id, session, token := p.squatted(t)
		sessionOf(t, p.come(t, claimant{subject: "owner", email: fixture.VisitorEmail}))
		p.wantCleared(t, id, session, token)
		p.Visit(t, http.StatusUnauthorized, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))
	})
}
