package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func revoking(id, by string) call {
	return call{Method: http.MethodDelete, Path: "/api/members/invitations/" + id + "/", Token: by}
}

func accepting(id, by string) call {
	return call{Method: http.MethodPost, Path: "/api/invitations/" + id + "/accept/", Token: by}
}

// wantActions checks the actions in the audit records of a subject, by any actor.
func wantActions(tb testing.TB, s *stage, id string, actions ...string) {
	tb.Helper()
	got := coretest.One[string](tb, s.DB, `SELECT coalesce(string_agg(action, ' ' ORDER BY id), '') FROM audit_records
		WHERE target_id = $1`, id)
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
		for _, email := range []string{"Executor@tiny-quota.example", "nobody@anywhere.example"} {
			got := fixture.Decoded[api.Invitation](t, s.Must(t, http.StatusCreated,
				fixture.Adding(owner, `{"email":"`+email+`","name":"As typed","role":"author"}`)))
			want := api.Invitation{
				Member: api.Member{Email: strings.ToLower(email), Name: "As typed", Role: api.RoleAuthor},
				Org:    api.Organization{ID: s.Harbour.ID.String(), Slug: "harbour-energy", Name: "Harbour Energy"},
				State:  "invited",
			}
			ignored := cmpopts.IgnoreFields(api.Invitation{}, "ID", "CreatedAt", "ExpiresAt")
			if diff := cmp.Diff(want, got, ignored); diff != "" {
				t.Errorf("invitation of %s (-want +got):\n%s", email, diff)
			}
			wantAudits(t, s, got.ID, "invitation.create")
		}
		users := coretest.One[string](t, s.DB, `SELECT coalesce(string_agg(email || ' is ' || name, ', '), '')
			FROM users WHERE lower(email) IN ('executor@tiny-quota.example', 'nobody@anywhere.example')`)
		if want := "executor@tiny-quota.example is Demo executor"; users != want {
			t.Errorf("users = %s, want %s as before", users, want)
		}
	})

	t.Run("OncePerAddress", func(t *testing.T) {
		t.Parallel()
		s.Must(t, http.StatusCreated, fixture.Adding(owner, `{"email":"once@b.example","role":"viewer"}`))
		s.Refused(t, api.CodeInvalidPayload, fixture.Adding(owner, `{"email":"ONCE@b.example","role":"viewer"}`))
		s.Refused(t, api.CodeInvalidPayload,
			fixture.Adding(owner, `{"email":"viewer@harbour-energy.example","role":"viewer"}`))
	})

	t.Run("GivesNoMoreThanOnesOwnRole", func(t *testing.T) {
		t.Parallel()
		admin := s.tokensOfRoles(t)[api.RoleAdmin]
		s.Refused(t, api.CodePermissionDenied, fixture.Adding(admin, `{"email":"king@b.example","role":"owner"}`))
		got := fixture.Decoded[api.Invitation](t, s.Must(t, http.StatusCreated,
			fixture.Adding(owner, `{"email":"king@b.example","role":"owner"}`)))
		s.Refused(t, api.CodePermissionDenied, fixture.Linking(got.ID, admin))
		s.Refused(t, api.CodePermissionDenied, revoking(got.ID, admin))
	})

	for name, body := range map[string]string{
		"NoEmail": `{"role":"viewer"}`, "BadEmail": `{"email":"nobody","role":"viewer"}`,
		"UnknownRole": `{"email":"a@b.example","role":"king"}`, "NoRole": `{"email":"a@b.example"}`,
		"NUL": `{"email":"a@b.example","name":"a\u0000","role":"viewer"}`,
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			s.Refused(t, api.CodeInvalidPayload, fixture.Adding(owner, body))
		})
	}
}

func TestAcceptInvitation(t *testing.T) {
	t.Parallel()

	t.Run("ByThePersonWhoIsInvited", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		tiny := s.Tiny.Tokens.Executor
		id := s.Invited(t, "executor@tiny-quota.example")
		userID := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM users WHERE email = 'executor@tiny-quota.example'`)
		if role := s.RoleOf(t, userID); role != "" {
			t.Fatalf("role = %s before the acceptance, want none", role)
		}
		list := fixture.Decoded[api.Page[api.Invitation]](t, s.Must(t, http.StatusOK,
			call{Path: "/api/invitations/", Token: tiny}))
		if len(list.Results) != 1 || list.Results[0].ID != id || list.Results[0].Org.Slug != "harbour-energy" {
			t.Fatalf("invitations = %+v, want harbour's", list.Results)
		}
		s.Refused(t, api.CodeNotFound, accepting(id, s.Tiny.Tokens.Owner))
		for range 2 {
			got := fixture.Decoded[api.Invitation](t, s.Must(t, http.StatusOK, accepting(id, tiny)))
			if got.State != "accepted" || s.RoleOf(t, userID) != api.RoleViewer {
				t.Fatalf("invitation = %+v, role %q, want accepted and viewer", got, s.RoleOf(t, userID))
			}
		}
		wantActions(t, s, id, "invitation.create", "invitation.accept")
		s.Refused(t, api.CodeNotFound, fixture.Linking(id, s.Harbour.Tokens.Owner))
	})

	t.Run("NotAfterItHasEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		tiny, owner := s.Tiny.Tokens.Executor, s.Harbour.Tokens.Owner
		decline := func(id string) call {
			return accepting(id, tiny).To("/api/invitations/" + id + "/decline/")
		}
		declined := s.Invited(t, "executor@tiny-quota.example")
		s.Must(t, http.StatusNoContent, decline(declined))
		revoked := s.Invited(t, "executor@tiny-quota.example")
		s.Must(t, http.StatusNoContent, revoking(revoked, owner))
		s.Must(t, http.StatusNoContent, revoking(revoked, owner))
		expired := s.Invited(t, "executor@tiny-quota.example")
		s.Exec(t, `UPDATE invitations SET expires_at = now() WHERE id = $1`, expired)
		for _, id := range []string{declined, revoked, expired} {
			s.Refused(t, api.CodeNotFound, accepting(id, tiny))
		}
		wantActions(t, s, declined, "invitation.create", "invitation.decline")
		wantActions(t, s, revoked, "invitation.create", "invitation.revoke")
		// One that has expired makes room for another.
		s.Must(t, http.StatusOK, accepting(s.Invited(t, "executor@tiny-quota.example"), tiny))
	})

	t.Run("NotAfterItsMakerHasLostTheRight", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		admin := s.AddMember(t, "inviting", api.RoleAdmin)
		token := s.TokenOf(t, admin, api.RoleAdmin)
		id := fixture.Decoded[api.Invitation](t, s.Must(t, http.StatusCreated,
			fixture.Adding(token, `{"email":"executor@tiny-quota.example","role":"admin"}`))).ID
		s.Must(t, http.StatusOK, setRole(admin, s.Harbour.Tokens.Owner, api.RoleAuthor))
		s.Refused(t, api.CodeNotFound, accepting(id, s.Tiny.Tokens.Executor))
		// Another administrator may answer for it.
		s.LinkOf(t, id)
		s.Must(t, http.StatusOK, accepting(id, s.Tiny.Tokens.Executor))
	})

	t.Run("NotByATokenThatMayDoLessThanItsUser", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		narrow, _ := s.AddToken(t, s.Tiny, api.RoleOwner, api.RoleAdmin)
		accept := accepting(s.Invited(t, "owner@tiny-quota.example"), narrow)
		s.Refused(t, api.CodePermissionDenied, accept)
		s.Refused(t, api.CodePermissionDenied, accept.To(strings.Replace(accept.Path, "accept", "decline", 1)))
		s.Refused(t, api.CodePermissionDenied, call{Path: "/api/invitations/", Token: narrow})
		s.Must(t, http.StatusOK, accept.By(s.Tiny.Tokens.Owner))
	})

	t.Run("NotWithoutTheLinkByAnAccountOfUnknownOrigin", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		id := s.Invited(t, "executor@tiny-quota.example")
		s.Exec(t, `UPDATE users SET address_confirmed = false WHERE email = 'executor@tiny-quota.example'`)
		s.Refused(t, api.CodeNotFound, accepting(id, s.Tiny.Tokens.Executor))
		got := s.Must(t, http.StatusOK, call{Path: "/api/invitations/", Token: s.Tiny.Tokens.Executor})
		if page := fixture.Decoded[api.Page[api.Invitation]](t, got); len(page.Results) != 0 {
			t.Errorf("invitations = %+v, want none", page.Results)
		}
	})
}

// TestInvitationsRace accepts, declines and revokes an invitation at once. One of these requests wins, and the others
// are answered that it has.
func TestInvitationsRace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	userID := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM users WHERE email = 'executor@tiny-quota.example'`)
	const rounds = 15
	for round := range rounds {
		invite := fixture.Adding(s.Harbour.Tokens.Owner, `{"email":"executor@tiny-quota.example","role":"viewer"}`)
		if created := s.AtOnce(t, []call{invite, invite, invite, invite})[http.StatusCreated]; created != 1 {
			t.Fatalf("round %d: %d invitations were made at once, want 1", round, created)
		}
		id := coretest.One[string](t, s.DB, `SELECT id::text FROM invitations WHERE state = 'open'`)
		accept := accepting(id, s.Tiny.Tokens.Executor)
		decline := accept.To("/api/invitations/" + id + "/decline/")
		s.AtOnce(t, []call{accept, decline, revoking(id, s.Harbour.Tokens.Owner), accept})
		state := coretest.One[string](t, s.DB, `SELECT state FROM invitations WHERE id = $1`, id)
		ends := coretest.One[int64](t, s.DB, `SELECT count(*) FROM audit_records WHERE target_id = $1
			AND action IN ('invitation.accept', 'invitation.decline', 'invitation.revoke')`, id)
		if member := s.RoleOf(t, userID) != ""; state == "open" || ends != 1 || member != (state == "accepted") {
			t.Fatalf("round %d: state %s, %d endings, member %t, want one ending", round, state, ends, member)
		}
		s.Exec(t, `DELETE FROM memberships WHERE user_id = $1 AND org_id = $2`, userID, s.Harbour.ID)
	}
}
