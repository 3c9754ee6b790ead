package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// invitationAnswer is an invitation as the API shows it. Only the answer that makes a link has one.
type invitationAnswer struct {
	ID  uuid.UUID `json:"id"`
	Org struct {
		ID   uuid.UUID `json:"id"`
		Slug string    `json:"slug"`
		Name string    `json:"name"`
	} `json:"org"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Role      core.Role `json:"role"`
	State     string    `json:"state"`
	CreatedAt string    `json:"created_at"`
	ExpiresAt string    `json:"expires_at"`
	Link      string    `json:"link"`
}

func linking(id uuid.UUID, by string) call {
	return call{method: http.MethodPost, path: "/api/members/invitations/" + id.String() + "/link/", token: by}
}

func revoking(id uuid.UUID, by string) call {
	return call{method: http.MethodDelete, path: "/api/members/invitations/" + id.String() + "/", token: by}
}

func accepting(id uuid.UUID, by string) call {
	return call{method: http.MethodPost, path: "/api/invitations/" + id.String() + "/accept/", token: by}
}

// linkOf makes a link for an invitation of harbour and returns its path.
func (s *stage) linkOf(tb testing.TB, id uuid.UUID) string {
	tb.Helper()
	got := s.must(tb, http.StatusCreated, linking(id, s.Harbour.Tokens.Owner))
	wantHeader(tb, got, map[string]string{"Cache-Control": "no-store"})
	return decoded[invitationAnswer](tb, got).Link
}

// wantDeeds checks the actions of the audit records on something, whoever has done them.
func wantDeeds(tb testing.TB, s *stage, id uuid.UUID, actions ...string) {
	tb.Helper()
	got := one[string](tb, s, `SELECT coalesce(string_agg(action, ' ' ORDER BY id), '') FROM audit_records
		WHERE target_id = $1`, id.String())
	if want := strings.Join(actions, " "); got != want {
		tb.Errorf("audit records = %q, want %q", got, want)
	}
}

func TestInviteMember(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Harbour.Tokens.Owner

	t.Run("AnswersTheSameForKnownAndUnknownAddresses", func(t *testing.T) {
		t.Parallel()
		users := one[int64](t, s, `SELECT count(*) FROM users`)
		for _, email := range []string{"Viewer@tiny-quota.example", "nobody@anywhere.example"} {
			got := decoded[invitationAnswer](t, s.must(t, http.StatusCreated,
				adding(owner, `{"email":"`+email+`","name":"As typed","role":"author"}`)))
			want := invitationAnswer{
				Email: strings.ToLower(email), Name: "As typed", Role: core.RoleAuthor, State: "invited",
			}
			want.Org.ID, want.Org.Slug, want.Org.Name = s.Harbour.ID, "harbour-energy", "Harbour Energy"
			ignored := cmpopts.IgnoreFields(invitationAnswer{}, "ID", "CreatedAt", "ExpiresAt")
			if diff := cmp.Diff(want, got, ignored); diff != "" {
				t.Errorf("invitation of %s (-want +got):\n%s", email, diff)
			}
			wantAudits(t, s, got.ID, "invitation.create")
		}
		if after := one[int64](t, s, `SELECT count(*) FROM users`); after != users {
			t.Errorf("users = %d, want %d as before", after, users)
		}
		if name := one[string](t, s, `SELECT name FROM users WHERE email = 'viewer@tiny-quota.example'`); name !=
			"Demo viewer" {
			t.Errorf("name = %q, want the user's own", name)
		}
	})

	t.Run("OncePerKeyAndAddress", func(t *testing.T) {
		t.Parallel()
		keyed := adding(owner, `{"email":"keyed@b.example","role":"viewer"}`).with("Idempotency-Key", "member")
		first := s.must(t, http.StatusCreated, keyed)
		same := keyed.withBody("application/json", `{"role":"viewer", "email":"keyed@b.example"}`)
		wantReplay(t, first, s.do(t, same))
		s.refused(t, core.CodeKeyReused, keyed.withBody("application/json", `{"email":"b@b.example","role":"viewer"}`))
		s.refused(t, core.CodeInvalidPayload, adding(owner, `{"email":"KEYED@b.example","role":"viewer"}`))
		s.refused(t, core.CodeInvalidPayload,
			adding(owner, `{"email":"viewer@harbour-energy.example","role":"viewer"}`))
	})

	t.Run("GivesNoMoreThanOnesOwnRole", func(t *testing.T) {
		t.Parallel()
		admin := s.tokensOfRoles(t)[core.RoleAdmin]
		s.refused(t, core.CodePermissionDenied, adding(admin, `{"email":"king@b.example","role":"owner"}`))
		got := decoded[invitationAnswer](t, s.must(t, http.StatusCreated,
			adding(owner, `{"email":"king@b.example","role":"owner"}`)))
		s.refused(t, core.CodePermissionDenied, linking(got.ID, admin))
		s.refused(t, core.CodePermissionDenied, revoking(got.ID, admin))
	})

	for name, body := range map[string]string{
		"NoEmail": `{"role":"viewer"}`, "BadEmail": `{"email":"nobody","role":"viewer"}`,
		"UnknownRole": `{"email":"a@b.example","role":"king"}`, "NoRole": `{"email":"a@b.example"}`,
		"NUL": `{"email":"a@b.example","name":"a\u0000","role":"viewer"}`,
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			s.refused(t, core.CodeInvalidPayload, adding(owner, body))
		})
	}
}

func TestAcceptInvitation(t *testing.T) {
	t.Parallel()

	t.Run("ByThePersonWhoIsInvited", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		tiny := s.Tiny.Tokens.Viewer
		id := s.invited(t, "viewer@tiny-quota.example")
		userID := one[uuid.UUID](t, s, `SELECT id FROM users WHERE email = 'viewer@tiny-quota.example'`)
		if role := s.roleOf(t, userID); role != "" {
			t.Fatalf("role = %s before the acceptance, want none", role)
		}
		list := decoded[core.Page[invitationAnswer]](t, s.must(t, http.StatusOK,
			call{path: "/api/invitations/", token: tiny}))
		if len(list.Results) != 1 || list.Results[0].ID != id || list.Results[0].Org.Slug != "harbour-energy" {
			t.Fatalf("invitations = %+v, want harbour's", list.Results)
		}
		s.refused(t, core.CodeNotFound, accepting(id, s.Tiny.Tokens.Owner))
		for range 2 {
			got := decoded[invitationAnswer](t, s.must(t, http.StatusOK, accepting(id, tiny)))
			if got.State != "accepted" || s.roleOf(t, userID) != core.RoleViewer {
				t.Fatalf("invitation = %+v, role %q, want accepted and viewer", got, s.roleOf(t, userID))
			}
		}
		wantDeeds(t, s, id, "invitation.create", "invitation.accept")
		s.refused(t, core.CodeNotFound, linking(id, s.Harbour.Tokens.Owner))
	})

	t.Run("NotAfterItHasEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		tiny, owner := s.Tiny.Tokens.Viewer, s.Harbour.Tokens.Owner
		decline := func(id uuid.UUID) call {
			return accepting(id, tiny).to("/api/invitations/" + id.String() + "/decline/")
		}
		declined := s.invited(t, "viewer@tiny-quota.example")
		s.must(t, http.StatusNoContent, decline(declined))
		revoked := s.invited(t, "viewer@tiny-quota.example")
		s.must(t, http.StatusNoContent, revoking(revoked, owner))
		s.must(t, http.StatusNoContent, revoking(revoked, owner))
		expired := s.invited(t, "viewer@tiny-quota.example")
		s.exec(t, `UPDATE invitations SET expires_at = now() WHERE id = $1`, expired)
		for _, id := range []uuid.UUID{declined, revoked, expired} {
			s.refused(t, core.CodeNotFound, accepting(id, tiny))
		}
		wantDeeds(t, s, declined, "invitation.create", "invitation.decline")
		wantDeeds(t, s, revoked, "invitation.create", "invitation.revoke")
		// One that has expired makes room for another.
		s.must(t, http.StatusOK, accepting(s.invited(t, "viewer@tiny-quota.example"), tiny))
	})

	t.Run("NotAfterWhoeverInvitedHasLostTheRight", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		admin := s.addMember(t, "inviting", core.RoleAdmin)
		token := s.tokenOf(t, admin, core.RoleAdmin)
		id := decoded[invitationAnswer](t, s.must(t, http.StatusCreated,
			adding(token, `{"email":"viewer@tiny-quota.example","role":"admin"}`))).ID
		s.must(t, http.StatusOK, setRole(admin, s.Harbour.Tokens.Owner, core.RoleAuthor))
		s.refused(t, core.CodeNotFound, accepting(id, s.Tiny.Tokens.Viewer))
		// Another administrator may answer for it.
		s.linkOf(t, id)
		s.must(t, http.StatusOK, accepting(id, s.Tiny.Tokens.Viewer))
	})

	t.Run("NotWithoutTheLinkByAnAccountOfUnknownOrigin", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id := s.invited(t, "viewer@tiny-quota.example")
		s.exec(t, `UPDATE users SET address_confirmed = false WHERE email = 'viewer@tiny-quota.example'`)
		s.refused(t, core.CodeNotFound, accepting(id, s.Tiny.Tokens.Viewer))
		got := s.must(t, http.StatusOK, call{path: "/api/invitations/", token: s.Tiny.Tokens.Viewer})
		if page := decoded[core.Page[invitationAnswer]](t, got); len(page.Results) != 0 {
			t.Errorf("invitations = %+v, want none", page.Results)
		}
	})
}

// TestInvitationsRace lets everything happen to an invitation at once. One of it wins, and the rest is told so.
func TestInvitationsRace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	userID := one[uuid.UUID](t, s, `SELECT id FROM users WHERE email = 'viewer@tiny-quota.example'`)
	const rounds = 15
	for round := range rounds {
		invite := adding(s.Harbour.Tokens.Owner, `{"email":"viewer@tiny-quota.example","role":"viewer"}`)
		if created := s.atOnce(t, []call{invite, invite, invite, invite})[http.StatusCreated]; created != 1 {
			t.Fatalf("round %d: %d invitations were made at once, want 1", round, created)
		}
		id := one[uuid.UUID](t, s, `SELECT id FROM invitations WHERE state = 'open'`)
		accept := accepting(id, s.Tiny.Tokens.Viewer)
		decline := accept.to("/api/invitations/" + id.String() + "/decline/")
		s.atOnce(t, []call{accept, decline, revoking(id, s.Harbour.Tokens.Owner), accept})
		state := one[string](t, s, `SELECT state FROM invitations WHERE id = $1`, id)
		ends := one[int64](t, s, `SELECT count(*) FROM audit_records WHERE target_id = $1
			AND action IN ('invitation.accept', 'invitation.decline', 'invitation.revoke')`, id.String())
		if member := s.roleOf(t, userID) != ""; state == "open" || ends != 1 || member != (state == "accepted") {
			t.Fatalf("round %d: state %s, %d endings, member %t, want one ending", round, state, ends, member)
		}
		s.exec(t, `DELETE FROM memberships WHERE user_id = $1 AND org_id = $2`, userID, s.Harbour.ID)
	}
}
