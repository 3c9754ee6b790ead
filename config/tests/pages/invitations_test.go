package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func joining(link, name, password string) call {
	return fixture.Post(link+"join/", "", url.Values{"name": {name}, "new": {password}, "again": {password}})
}

func TestInvitationLink(t *testing.T) {
	t.Parallel()
	const password = "a long new password"

	t.Run("MakesAnAccountForAPersonWhoIsNew", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		link := s.LinkOf(t, s.Invited(t, "kim@b.example"))
		html := s.see(t, fixture.Page(link, ""))
		fixture.Shows(t, html, "Join Harbour Energy", "kim@b.example", `value="Invited"`)
		refused := s.Visit(t, http.StatusBadRequest, joining(link, "Kim", "short"))
		fixture.Shows(t, refused, "must have at least 12 characters")
		got := s.AnswerTo(t, joining(link, "Kim", password))
		if to := got.Header.Get("Location"); got.Status != http.StatusSeeOther || to != fixture.HarbourPages {
			t.Fatalf("%d to %q, want 303 to %s", got.Status, to, fixture.HarbourPages)
		}
		s.see(t, harbour("runs/", sessionOf(t, got).Value))
		s.Visit(t, http.StatusSeeOther, fixture.SignIn("kim@b.example", password))
		if name := coretest.One[string](t, s.DB,
			`SELECT name FROM users WHERE email = 'kim@b.example'`); name != "Kim" {
			t.Errorf("name = %q, want the one that the person chose", name)
		}
		s.Visit(t, http.StatusNotFound, fixture.Page(link, ""))
		s.Visit(t, http.StatusNotFound, joining(link, "Kim", password))
	})

	t.Run("TakesASignInWhereThereIsAnAccount", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		link := s.LinkOf(t, s.Invited(t, "owner@tiny-quota.example"))
		// The page is the same as for a person who is new.
		s.shows(t, fixture.Page(link, ""), "sign in", "Otherwise choose a name and a password")
		fixture.Shows(t, s.Visit(t, http.StatusBadRequest, joining(link, "Mallory", password)), "sign in to accept")
		s.Visit(t, http.StatusUnauthorized, fixture.SignIn("owner@tiny-quota.example", password))
		s.Visit(t, http.StatusUnauthorized, fixture.Post(link+"accept/", "", nil))
		other := s.Visitor(t, api.RoleViewer)
		s.shows(t, fixture.Page(link, other), "You are signed in as")
		s.Visit(t, http.StatusNotFound, fixture.Post(link+"accept/", other, nil))
		session := s.SessionOf(t, "owner@tiny-quota.example")
		s.shows(t, fixture.Page(link, session), "Accept</button>")
		s.Visit(t, http.StatusSeeOther, fixture.Post(link+"accept/", session, nil))
		s.see(t, harbour("runs/", session))
	})

	t.Run("IsOneOfItsKindAndLastsAWeek", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id := s.Invited(t, "kim@b.example")
		first := s.LinkOf(t, id)
		second := s.LinkOf(t, id)
		s.Visit(t, http.StatusNotFound, fixture.Page(first, ""))
		s.Visit(t, http.StatusNotFound, joining(first, "Kim", password))
		s.see(t, fixture.Page(second, ""))
		days := coretest.One[float64](t, s.DB,
			`SELECT extract(epoch FROM expires_at - now())::float8 / 86400 FROM invitations`)
		if days < 6.9 || days > 7 {
			t.Errorf("the link lasts %.2f days, want 7", days)
		}
		if coretest.One[bool](t, s.DB, `SELECT i::text LIKE '%sv_%' FROM invitations AS i`) {
			t.Error("the database has the secret of the link")
		}
		s.Exec(t, `UPDATE invitations SET expires_at = now()`)
		s.Visit(t, http.StatusNotFound, joining(second, "Kim", password))
		s.Visit(t, http.StatusNotFound, fixture.Page("/app/invitations/made-up/", ""))
	})

	t.Run("IsAcceptedOnceByTwoAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		link := s.LinkOf(t, s.Invited(t, "kim@b.example"))
		calls := []call{
			joining(link, "A", password), joining(link, "B", password), joining(link, "C", password),
		}
		if got := s.AtOnce(t, calls); got[http.StatusSeeOther] != 1 {
			t.Errorf("answers = %v, want one 303", got)
		}
		if n := coretest.One[int64](t, s.DB,
			`SELECT count(*) FROM audit_records WHERE action = 'invitation.accept'`); n != 1 {
			t.Errorf("acceptances = %d, want 1", n)
		}
	})
}

func TestInvitationsOnThePages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.Visitor(t, api.RoleAdmin)
	invite := url.Values{"email": {"owner@tiny-quota.example"}, "name": {hostile}, "role": {"author"}}

	issued := s.AnswerTo(t, harbourForm("members/", admin, invite))
	if issued.Status != http.StatusCreated {
		t.Fatalf("status = %d, want 201: %s", issued.Status, issued.Body)
	}
	fixture.WantHeader(t, issued, map[string]string{"Cache-Control": "no-store"})
	link := regexp.MustCompile(`/app/invitations/sv_[A-Za-z0-9_-]{43}/`).FindString(string(issued.Body))
	s.see(t, fixture.Page(link, ""))
	list := s.see(t, harbour("members/", admin))
	fixture.Shows(t, list, "owner@tiny-quota.example", "&lt;script&gt;", "invited")
	fixture.Hides(t, list, "<script>alert", link)
	s.hides(t, harbour("members/", s.Visitor(t, api.RoleViewer)), "Invite a member", "owner@tiny-quota.example")
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, harbourForm("members/", admin, invite)), "an open invitation")

	id := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM invitations`).String()
	fixture.Shows(t, s.Visit(t, http.StatusCreated, harbourForm("members/invitations/"+id+"/link/", admin, nil)),
		"/app/invitations/sv_")
	s.Visit(t, http.StatusNotFound, fixture.Page(link, ""))

	// The invited person sees it on the account page. Nothing else has changed until it is accepted.
	session := s.SessionOf(t, "owner@tiny-quota.example")
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
	s.shows(t, fixture.Page("/app/account/", session), "Organizations that invite you", "Harbour Energy")
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/invitations/"+id+"/accept/", session, nil))
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")

	fixture.Shows(t, s.Visit(t, http.StatusUnprocessableEntity,
		fixture.Post("/app/account/organizations/tiny-quota/leave/", session,
			nil)), "the only owner of the organization")
	s.Visit(t, http.StatusSeeOther, fixture.Post("/app/account/organizations/harbour-energy/leave/", session, nil))
	s.Visit(t, http.StatusNotFound, harbour("runs/", session))
	s.Visit(t, http.StatusNotFound, fixture.Post("/app/account/organizations/harbour-energy/leave/", session, nil))
}

// leadsTo checks to which organization's pages the dashboard leads.
func (s *stage) leadsTo(tb testing.TB, session, want string) {
	tb.Helper()
	for path, rest := range map[string]string{"/app/": "", "/app/users/api-key/": "tokens/"} {
		if got := s.AnswerTo(tb, fixture.Page(path, session)).Header.Get("Location"); got != want+rest {
			tb.Errorf("%s leads to %s, want %s", path, got, want+rest)
		}
	}
}

func TestSignInLeadsToTheOrganizationUsedLast(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.SessionOf(t, "owner@tiny-quota.example")
	userID := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM users WHERE email = 'owner@tiny-quota.example'`)
	evil, err := s.Users.CreateOrganization(t.Context(), "aaa-evil", "AAA Evil", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Users.SetMembership(t.Context(), evil.ID, userID, api.RoleViewer); err != nil {
		t.Fatal(err)
	}
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
	s.see(t, fixture.Page("/app/orgs/aaa-evil/runs/", session))
	s.leadsTo(t, session, "/app/orgs/aaa-evil/")
	s.see(t, fixture.Page("/app/orgs/tiny-quota/runs/", session))
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
	// To look at the same organization again writes nothing.
	before := coretest.One[string](t, s.DB, `SELECT xmin::text FROM users WHERE id = $1`, userID)
	s.see(t, fixture.Page("/app/orgs/tiny-quota/runs/", session))
	if after := coretest.One[string](t, s.DB, `SELECT xmin::text FROM users WHERE id = $1`, userID); after != before {
		t.Error("the user's row was written again")
	}
	s.Exec(t, `UPDATE users SET last_org_id = $2 WHERE id = $1`, userID, evil.ID)
	s.Exec(t, `DELETE FROM memberships WHERE user_id = $1 AND org_id = $2`, userID, evil.ID)
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
}
