package config_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

func joining(link, name, password string) call {
	return post(link+"join/", "", url.Values{"name": {name}, "new": {password}, "again": {password}})
}

func TestInvitationLink(t *testing.T) {
	t.Parallel()
	const password = "a long new password"

	t.Run("MakesAnAccountForAPersonWhoIsNew", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		link := s.linkOf(t, s.invited(t, "kim@b.example"))
		html := s.visit(t, http.StatusOK, page(link, ""))
		shows(t, html, "Join Harbour Energy", "kim@b.example", `value="Invited"`)
		shows(t, s.visit(t, http.StatusBadRequest, joining(link, "Kim", "short")), "must be at least 12")
		got := s.answerTo(t, joining(link, "Kim", password))
		if to := got.header.Get("Location"); got.status != http.StatusSeeOther || to != harbourPages {
			t.Fatalf("%d to %q, want 303 to %s", got.status, to, harbourPages)
		}
		s.visit(t, http.StatusOK, page(harbourPages+"runs/", sessionOf(t, got).Value))
		s.visit(t, http.StatusSeeOther, signIn("kim@b.example", password))
		if name := one[string](t, s, `SELECT name FROM users WHERE email = 'kim@b.example'`); name != "Kim" {
			t.Errorf("name = %q, want the one that the person chose", name)
		}
		s.visit(t, http.StatusNotFound, page(link, ""))
		s.visit(t, http.StatusNotFound, joining(link, "Kim", password))
	})

	t.Run("TakesASignInWhereThereIsAnAccount", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		link := s.linkOf(t, s.invited(t, "owner@tiny-quota.example"))
		// The page is the same as for a person who is new.
		shows(t, s.visit(t, http.StatusOK, page(link, "")), "sign in", "Otherwise choose a name and a password")
		shows(t, s.visit(t, http.StatusBadRequest, joining(link, "Mallory", password)), "sign in to accept")
		s.visit(t, http.StatusUnauthorized, signIn("owner@tiny-quota.example", password))
		s.visit(t, http.StatusUnauthorized, post(link+"accept/", "", nil))
		other := s.visitor(t, core.RoleViewer)
		shows(t, s.visit(t, http.StatusOK, page(link, other)), "You are signed in as")
		s.visit(t, http.StatusNotFound, post(link+"accept/", other, nil))
		session := s.stranger(t)
		shows(t, s.visit(t, http.StatusOK, page(link, session)), "Accept</button>")
		s.visit(t, http.StatusSeeOther, post(link+"accept/", session, nil))
		s.visit(t, http.StatusOK, page(harbourPages+"runs/", session))
	})

	t.Run("IsOneOfItsKindAndLastsAWeek", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id := s.invited(t, "kim@b.example")
		first := s.linkOf(t, id)
		second := s.linkOf(t, id)
		s.visit(t, http.StatusNotFound, page(first, ""))
		s.visit(t, http.StatusNotFound, joining(first, "Kim", password))
		s.visit(t, http.StatusOK, page(second, ""))
		days := one[float64](t, s, `SELECT extract(epoch FROM expires_at - now())::float8 / 86400 FROM invitations`)
		if days < 6.9 || days > 7 {
			t.Errorf("the link lasts %.2f days, want 7", days)
		}
		if one[bool](t, s, `SELECT i::text LIKE '%sv_%' FROM invitations AS i`) {
			t.Error("the database has the secret of the link")
		}
		s.exec(t, `UPDATE invitations SET expires_at = now()`)
		s.visit(t, http.StatusNotFound, joining(second, "Kim", password))
		s.visit(t, http.StatusNotFound, page("/app/invitations/made-up/", ""))
	})

	t.Run("IsAcceptedOnceByTwoAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		link := s.linkOf(t, s.invited(t, "kim@b.example"))
		calls := []call{
			joining(link, "A", password), joining(link, "B", password), joining(link, "C", password),
		}
		if got := s.atOnce(t, calls); got[http.StatusSeeOther] != 1 {
			t.Errorf("answers = %v, want one 303", got)
		}
		if n := one[int64](t, s, `SELECT count(*) FROM audit_records WHERE action = 'invitation.accept'`); n != 1 {
			t.Errorf("acceptances = %d, want 1", n)
		}
	})
}

func TestInvitationsOnThePages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.visitor(t, core.RoleAdmin)
	invite := url.Values{"email": {"owner@tiny-quota.example"}, "name": {hostile}, "role": {"author"}}

	issued := s.answerTo(t, post(harbourPages+"members/", admin, invite))
	if issued.status != http.StatusCreated {
		t.Fatalf("status = %d, want 201: %s", issued.status, issued.body)
	}
	wantHeader(t, issued, map[string]string{"Cache-Control": "no-store"})
	link := regexp.MustCompile(`/app/invitations/sv_[A-Za-z0-9_-]{43}/`).FindString(string(issued.body))
	s.visit(t, http.StatusOK, page(link, ""))
	list := s.visit(t, http.StatusOK, page(harbourPages+"members/", admin))
	shows(t, list, "owner@tiny-quota.example", "&lt;script&gt;", "invited")
	hides(t, list, "<script>alert", link)
	hides(t, s.visit(t, http.StatusOK, page(harbourPages+"members/", s.visitor(t, core.RoleViewer))),
		"Invite a member", "owner@tiny-quota.example")
	shows(t, s.visit(t, http.StatusBadRequest, post(harbourPages+"members/", admin, invite)), "an open invitation")

	id := one[uuid.UUID](t, s, `SELECT id FROM invitations`).String()
	shows(t, s.visit(t, http.StatusCreated, post(harbourPages+"members/invitations/"+id+"/link/", admin, nil)),
		"/app/invitations/sv_")
	s.visit(t, http.StatusNotFound, page(link, ""))

	// The invited person sees it on the account page. Nothing else has changed until it is accepted.
	session := s.stranger(t)
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
	shows(t, s.visit(t, http.StatusOK, page("/app/account/", session)), "Organizations that invite you",
		"Harbour Energy")
	s.visit(t, http.StatusSeeOther, post("/app/account/invitations/"+id+"/accept/", session, nil))
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")

	shows(t, s.visit(t, http.StatusUnprocessableEntity,
		post("/app/account/organizations/tiny-quota/leave/", session, nil)), "the only owner of the organization")
	s.visit(t, http.StatusSeeOther, post("/app/account/organizations/harbour-energy/leave/", session, nil))
	s.visit(t, http.StatusNotFound, page(harbourPages+"runs/", session))
	s.visit(t, http.StatusNotFound, post("/app/account/organizations/harbour-energy/leave/", session, nil))
}

// leadsTo checks to which organization's pages the dashboard leads.
func (s *stage) leadsTo(tb testing.TB, session, want string) {
	tb.Helper()
	for path, rest := range map[string]string{"/app/": "", "/app/users/api-key/": "tokens/"} {
		if got := s.answerTo(tb, page(path, session)).header.Get("Location"); got != want+rest {
			tb.Errorf("%s leads to %s, want %s", path, got, want+rest)
		}
	}
}

func TestSignInLeadsToTheOrganizationUsedLast(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.stranger(t)
	userID := one[uuid.UUID](t, s, `SELECT id FROM users WHERE email = 'owner@tiny-quota.example'`)
	evil, err := s.Users.CreateOrganization(t.Context(), "aaa-evil", "AAA Evil", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Users.SetMembership(t.Context(), evil.ID, userID, core.RoleViewer); err != nil {
		t.Fatal(err)
	}
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
	s.visit(t, http.StatusOK, page("/app/orgs/aaa-evil/runs/", session))
	s.leadsTo(t, session, "/app/orgs/aaa-evil/")
	s.visit(t, http.StatusOK, page("/app/orgs/tiny-quota/runs/", session))
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
	// To look at the same organization again writes nothing.
	before := one[string](t, s, `SELECT xmin::text FROM users WHERE id = $1`, userID)
	s.visit(t, http.StatusOK, page("/app/orgs/tiny-quota/runs/", session))
	if after := one[string](t, s, `SELECT xmin::text FROM users WHERE id = $1`, userID); after != before {
		t.Error("the user's row was written again")
	}
	s.exec(t, `UPDATE users SET last_org_id = $2 WHERE id = $1`, userID, evil.ID)
	s.exec(t, `DELETE FROM memberships WHERE user_id = $1 AND org_id = $2`, userID, evil.ID)
	s.leadsTo(t, session, "/app/orgs/tiny-quota/")
}
