package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func setRole(id uuid.UUID, by string, role api.Role) call {
	c := call{Method: http.MethodPatch, Path: "/api/members/" + id.String() + "/", Token: by}
	return c.WithBody("application/json", `{"role":"`+string(role)+`"}`)
}

func remove(id uuid.UUID, by string) call {
	return call{Method: http.MethodDelete, Path: "/api/members/" + id.String() + "/", Token: by}
}

func leave(by string) call {
	return call{Method: http.MethodDelete, Path: "/api/members/me/", Token: by}
}

func TestChangeMember(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner, admin := s.Harbour.Tokens.Owner, s.tokensOfRoles(t)[api.RoleAdmin]
	ownerID := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`)

	t.Run("HoldsFromTheNextRequestOn", func(t *testing.T) {
		t.Parallel()
		id := s.AddMember(t, "promoted", api.RoleViewer)
		token := s.TokenOf(t, id, api.RoleOwner)
		s.Refused(t, api.CodePermissionDenied, s.Start(t, "").By(token))
		s.Must(t, http.StatusOK, setRole(id, admin, api.RoleExecutor))
		s.Started(t, s.Start(t, "").By(token))
		s.Must(t, http.StatusOK, setRole(id, admin, api.RoleExecutor))
		wantAudits(t, s, id.String(), "member.set_role")
		s.Must(t, http.StatusNoContent, remove(id, admin))
		s.Refused(t, api.CodePermissionDenied, s.Start(t, "").By(token))
		s.Must(t, http.StatusNoContent, remove(id, admin))
		wantAudits(t, s, id.String(), "member.set_role", "member.remove")
		s.Refused(t, api.CodeNotFound, setRole(id, admin, api.RoleViewer))
	})

	t.Run("NobodyReachesAboveThemselves", func(t *testing.T) {
		t.Parallel()
		id := s.AddMember(t, "raised", api.RoleViewer)
		s.Refused(t, api.CodePermissionDenied, setRole(id, admin, api.RoleOwner))
		s.Refused(t, api.CodePermissionDenied, setRole(ownerID, admin, api.RoleViewer))
		s.Refused(t, api.CodePermissionDenied, remove(ownerID, admin))
		if id, want := s.RoleOf(t, id), api.RoleViewer; id != want {
			t.Errorf("role = %s, want %s", id, want)
		}
	})

	t.Run("TheLastOwnerStays", func(t *testing.T) {
		t.Parallel()
		s.Refused(t, api.CodeLastOwner, setRole(ownerID, owner, api.RoleAdmin))
		s.Refused(t, api.CodeLastOwner, remove(ownerID, owner))
		if role := s.RoleOf(t, ownerID); role != api.RoleOwner {
			t.Errorf("role = %q, want owner", role)
		}
		wantAudits(t, s, ownerID.String())
	})

	t.Run("LeaveWithTheWholeRole", func(t *testing.T) {
		t.Parallel()
		id := s.AddMember(t, "going", api.RoleAuthor)
		s.Refused(t, api.CodePermissionDenied, leave(s.TokenOf(t, id, api.RoleViewer)))
		token := s.TokenOf(t, id, api.RoleAuthor)
		s.Must(t, http.StatusNoContent, leave(token))
		s.Refused(t, api.CodePermissionDenied, call{Path: "/api/me/", Token: token})
		wantAudits(t, s, id.String(), "member.leave")
		s.Refused(t, api.CodeLastOwner, leave(owner))
	})

	t.Run("OtherOrganizationsAreNotTouched", func(t *testing.T) {
		t.Parallel()
		s.Must(t, http.StatusNoContent, remove(ownerID, s.Tiny.Tokens.Owner))
		s.Refused(t, api.CodeNotFound, setRole(ownerID, s.Tiny.Tokens.Owner, api.RoleViewer))
		s.Refused(t, api.CodeNotFound, setRole(uuid.Nil, owner, api.RoleViewer).To("/api/members/me/"))
		if role := s.RoleOf(t, ownerID); role != api.RoleOwner {
			t.Errorf("role = %q, want owner", role)
		}
	})
}

// TestOwnersLeaveAtOnce lets all owners of an organization leave at the same moment, by both ways.
func TestOwnersLeaveAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const owners, rounds = 4, 5
	const owner = `SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`
	ids := []uuid.UUID{coretest.One[uuid.UUID](t, s.DB, owner)}
	tokens := []string{s.Harbour.Tokens.Owner}
	for i := range owners - 1 {
		ids = append(ids, s.AddMember(t, "owner-"+string(rune('a'+i)), api.RoleOwner))
		tokens = append(tokens, s.TokenOf(t, ids[i+1], api.RoleOwner))
	}
	for round := range rounds {
		calls := make([]call, owners)
		for i := range calls {
			calls[i] = remove(ids[i], tokens[i])
			if (i+round)%2 == 0 {
				calls[i] = setRole(ids[i], tokens[i], api.RoleViewer)
			}
		}
		answers := s.Together(t, calls)
		stayed := slices.IndexFunc(answers, func(a answer) bool { return a.Status == http.StatusUnprocessableEntity })
		if stayed < 0 {
			t.Fatalf("round %d: nobody was refused", round)
		}
		fixture.WantProblem(t, answers[stayed], api.CodeLastOwner)
		left := coretest.One[int64](t, s.DB, `SELECT count(*) FROM memberships WHERE org_id = $1 AND role = 'owner'`,
			s.Harbour.ID)
		if left != 1 || s.RoleOf(t, ids[stayed]) != api.RoleOwner {
			t.Fatalf("round %d: %d owners are left, want the one who was refused", round, left)
		}
		s.Exec(t, `INSERT INTO memberships (org_id, user_id, role) SELECT $1, unnest($2::uuid[]), 'owner'
			ON CONFLICT ON CONSTRAINT memberships_pkey DO UPDATE SET role = 'owner'`, s.Harbour.ID, ids)
	}
}

func TestListMembers(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var emails []string
	for _, member := range thereAndBack[api.Member](t, s, s.reading("/api/members/?page_size=2"), 2) {
		emails = append(emails, member.Email)
	}
	slices.Sort(emails)
	want := "executor@harbour-energy.example owner@harbour-energy.example viewer@harbour-energy.example"
	if got := strings.Join(emails, " "); got != want {
		t.Errorf("members = %s, want %s", got, want)
	}
}

func TestAudit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "").With("Request-Id", "req-of-start"))
	first := s.Must(t, http.StatusOK, call{Path: "/api/audit/?page_size=1", Token: s.Harbour.Tokens.Owner})
	page := fixture.Decoded[api.Page[api.AuditRecord]](t, first)
	got := page.Results[0]
	want := api.AuditRecord{
		ID: got.ID, CreatedAt: got.CreatedAt, ActorEmail: "executor@harbour-energy.example", Action: "run.start",
		TargetType: "run", TargetID: run.ID, RequestID: "req-of-start",
		Actor: coretest.One[api.Optional](t, s.DB, `SELECT created_by::text FROM validation_runs`),
		Token: coretest.One[api.Optional](t, s.DB,
			`SELECT token_id::text FROM audit_records WHERE action = 'run.start'`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	next := s.Must(t, http.StatusOK, call{Path: string(page.Next), Token: s.Harbour.Tokens.Owner})
	if older := fixture.Decoded[api.Page[api.AuditRecord]](t,
		next).Results[0]; older.Action != "token.create" || older.Actor != "" {
		t.Errorf("older record = %+v, want the operator's creation of a token", older)
	}
}
