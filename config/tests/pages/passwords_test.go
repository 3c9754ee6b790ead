package pages

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const newPassword = "another long password"

// linking asks for a link for harbour's member.
func linking(session string, id uuid.UUID, hours string) call {
	return harbourForm("members/"+id.String()+"/password/", session, url.Values{"hours": {hours}})
}

// setting sets a password with a link.
func setting(link, password string) call {
	return fixture.Post(link, "", url.Values{"new": {password}, "again": {password}})
}

// passwordLink makes a link for harbour's member.
func (s *stage) passwordLink(tb testing.TB, session string, id uuid.UUID) string {
	tb.Helper()
	html := s.Visit(tb, http.StatusCreated, linking(session, id, "24"))
	return regexp.MustCompile(`/app/password/sv_[A-Za-z0-9_-]{43}/`).FindString(html)
}

// A password is mostly changed because somebody else may know it, who may have made tokens with it.
func TestNewPasswordsOfferToRevokeTokens(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	session := s.Session(t, id)
	token := s.TokenOf(t, id, api.RoleAuthor)
	works := call{Path: "/api/me/", Token: token}
	fixture.Shows(t, s.Visit(t, http.StatusOK, fixture.Page("/app/account/", session)),
		`name="revoke_tokens"`, "test at Harbour Energy")
	changing := url.Values{"current": {fixture.VisitorPassword}, "new": {newPassword}, "again": {newPassword}}
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/password/", session, changing))
	s.Must(t, http.StatusOK, works)
	link := s.passwordLink(t, s.Visitor(t, api.RoleOwner), id)
	fixture.Shows(t, s.Visit(t, http.StatusOK, fixture.Page(link, "")), "test at Harbour Energy")
	revoking := setting(link, newPassword)
	revoking.Body += "&revoke_tokens=true"
	s.Visit(t, http.StatusSeeOther, revoking)
	s.Refused(t, api.CodeNotAuthenticated, works)

	session = s.Session(t, id)
	works.Token = s.TokenOf(t, id, api.RoleAuthor)
	changing.Set("current", newPassword)
	changing.Set("revoke_tokens", "true")
	sessionOf(t, s.AnswerTo(t, fixture.Post("/app/account/password/", session, changing)))
	s.Refused(t, api.CodeNotAuthenticated, works)
	works.Token = s.TokenOf(t, id, api.RoleAuthor)
	session = s.Session(t, id)
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/sessions/end/", session, nil))
	s.Must(t, http.StatusOK, works)
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/sessions/end/", session,
		url.Values{"revoke_tokens": {"true"}}))
	s.Refused(t, api.CodeNotAuthenticated, works)
	works.Token = s.TokenOf(t, id, api.RoleAuthor)
	s.Console(t).Must(t, "user", "set", fixture.VisitorEmail, "--revoke-tokens")
	s.Refused(t, api.CodeNotAuthenticated, works)
	if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM audit_records WHERE action LIKE 'password.%'
		AND target_id = $1::text AND detail LIKE '%1 token revoked%'`, id); n != 2 {
		t.Errorf("records of passwords with tokens = %d, want 2", n)
	}
}

func TestPasswordLink(t *testing.T) {
	t.Parallel()

	t.Run("SetsThePasswordOnceAndEndsTheSessions", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id := s.WithPassword(t)
		admin := s.Visitor(t, api.RoleOwner)
		open := s.Session(t, id)
		first := s.passwordLink(t, admin, id)
		link := s.passwordLink(t, admin, id)
		s.Visit(t, http.StatusNotFound, fixture.Page(first, ""))
		if coretest.One[bool](t, s.DB, `SELECT l::text LIKE '%sv_%' FROM password_links AS l`) {
			t.Error("the database has the secret of the link")
		}
		s.shows(t, fixture.Page(link, ""), fixture.VisitorEmail)
		fixture.Shows(t, s.Visit(t, http.StatusBadRequest, setting(link, "short")), "must have at least 12 characters")
		calls := []call{setting(link, newPassword), setting(link, newPassword), setting(link, newPassword)}
		if got := s.AtOnce(t, calls); got[http.StatusSeeOther] != 1 || got[http.StatusNotFound] != 2 {
			t.Errorf("answers = %v, want one 303 and two 404", got)
		}
		s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", open))
		s.Visit(t, http.StatusUnauthorized, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))
		s.Visit(t, http.StatusSeeOther, fixture.SignIn(fixture.VisitorEmail, newPassword))
		got := coretest.One[string](t, s.DB, `SELECT string_agg(action, '+' ORDER BY id) FROM audit_records
			WHERE action IN ('password.link', 'password.reset')`)
		if got != "password.link+password.link+password.reset" {
			t.Errorf("audit records = %s", got)
		}
	})

	t.Run("WorksAsLongAsItsMakerSays", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id, admin := s.WithPassword(t), s.Visitor(t, api.RoleOwner)
		for _, hours := range []string{"0", "73", "x"} {
			s.Visit(t, http.StatusBadRequest, linking(admin, id, hours))
		}
		link := s.passwordLink(t, admin, id)
		s.Exec(t, `UPDATE password_links SET expires_at = now()`)
		s.Visit(t, http.StatusNotFound, fixture.Page(link, ""))
		s.Visit(t, http.StatusNotFound, setting(link, newPassword))
		if _, err := s.Users.SignIn.PurgeSignIns(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM password_links`); n != 0 {
			t.Errorf("links after a purge = %d, want 0", n)
		}
	})

	t.Run("EndsWithEveryOtherChangeOfThePassword", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id := s.WithPassword(t)
		link := s.passwordLink(t, s.Visitor(t, api.RoleOwner), id)
		if err := s.Users.SignIn.SetPassword(t.Context(), id, newPassword); err != nil {
			t.Fatal(err)
		}
		s.Visit(t, http.StatusNotFound, setting(link, "a third long password"))
	})

	t.Run("OfTheOperatorNeedsNoMembership", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		if _, err := s.Users.Accounts.CreateUser(t.Context(), "alone@b.example", "", ""); err != nil {
			t.Fatal(err)
		}
		path, expires, err := s.Users.SignIn.LinkPassword(t.Context(), "alone@b.example", time.Hour)
		if err != nil || time.Until(expires) > time.Hour {
			t.Fatalf("link until %v, %v", expires, err)
		}
		s.Visit(t, http.StatusSeeOther, setting(path, newPassword))
		s.Visit(t, http.StatusSeeOther, fixture.SignIn("alone@b.example", newPassword))
		_, _, err = s.Users.SignIn.LinkPassword(t.Context(), "alone@b.example", 73*time.Hour)
		if !errors.Is(err, api.CodeInvalidPayload) {
			t.Errorf("a link for 73 hours: %v, want invalid_payload", err)
		}
	})
}

// Whoever sets the password of a user can act in all organizations of the user.
func TestPasswordLinkTakesOverNoOtherOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	s.Exec(t, `UPDATE memberships SET role = 'author' WHERE user_id = $1`, id)
	admin := s.Visitor(t, api.RoleAdmin)
	removal := harbourForm("members/"+id.String()+"/second-factor/remove/", admin, nil)
	for name, change := range map[string]string{
		"MemberElsewhere": `INSERT INTO memberships (org_id, user_id, role) VALUES ($2, $1, 'viewer')`,
		"Owner":           `UPDATE memberships SET role = 'owner' WHERE user_id = $1 AND org_id <> $2`,
		"Operator":        `UPDATE users SET is_operator = $2::uuid IS NOT NULL WHERE id = $1`,
	} {
		// What the member becomes after the link was made, and what the member is before.
		link := s.passwordLink(t, admin, id)
		s.see(t, fixture.Page(link, ""))
		s.Exec(t, change, id, s.Tiny.ID)
		s.Visit(t, http.StatusNotFound, fixture.Page(link, ""))
		s.Visit(t, http.StatusNotFound, setting(link, newPassword))
		for _, c := range []call{linking(admin, id, "24"), removal} {
			if got := s.AnswerTo(t, c); got.Status != http.StatusForbidden {
				t.Errorf("%s: %s = %d, want 403", name, c.Path, got.Status)
			}
		}
		s.Exec(t, `DELETE FROM memberships WHERE user_id = $1 AND org_id = $2`, id, s.Tiny.ID)
		s.Exec(t, `UPDATE memberships SET role = 'author' WHERE user_id = $1`, id)
		s.Exec(t, `UPDATE users SET is_operator = false WHERE id = $1`, id)
	}
	// An administrator of both organizations may, and no longer when one of them is lost.
	both := coretest.One[uuid.UUID](t, s.DB, `SELECT user_id FROM sessions WHERE digest = sha256($1::bytea)`,
		[]byte(admin))
	s.Exec(t, `INSERT INTO memberships (org_id, user_id, role) VALUES ($1, $2, 'viewer'), ($1, $3, 'admin')`,
		s.Tiny.ID, id, both)
	link := s.passwordLink(t, admin, id)
	s.see(t, fixture.Page(link, ""))
	s.Exec(t, `DELETE FROM memberships WHERE user_id = $1 AND org_id = $2`, both, s.Harbour.ID)
	s.Visit(t, http.StatusNotFound, setting(link, newPassword))
	s.Visit(t, http.StatusSeeOther, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))
}

func TestDisabledUser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.WithPassword(t)
	session, token := s.Session(t, id), s.TokenOf(t, id, api.RoleViewer)
	link := s.passwordLink(t, s.Visitor(t, api.RoleOwner), id)
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: token})
	if err := s.Users.SetDisabled(t.Context(), id, true, ""); err != nil {
		t.Fatal(err)
	}
	s.Refused(t, api.CodeNotAuthenticated, call{Path: "/api/me/", Token: token})
	s.Visit(t, http.StatusSeeOther, fixture.Page("/app/account/", session))
	s.Visit(t, http.StatusNotFound, fixture.Page(link, ""))
	fixture.Shows(t, s.Visit(t, http.StatusUnauthorized, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword)),
		"Your account is disabled")
	fixture.Hides(t, s.Visit(t, http.StatusUnauthorized, fixture.SignIn(fixture.VisitorEmail, "wrong")), "disabled")
	if err := s.Users.SetDisabled(t.Context(), id, false, ""); err != nil {
		t.Fatal(err)
	}
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: token})
	s.Visit(t, http.StatusSeeOther, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))
}
