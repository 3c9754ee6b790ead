package config_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// memberAnswer is a member as the API shows it.
type memberAnswer struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Role      core.Role `json:"role"`
	CreatedAt string    `json:"created_at"`
}

func adding(by, body string) call {
	return call{method: http.MethodPost, path: "/api/members/", token: by}.withBody("application/json", body)
}

func setRole(id uuid.UUID, by string, role core.Role) call {
	c := call{method: http.MethodPatch, path: "/api/members/" + id.String() + "/", token: by}
	return c.withBody("application/json", `{"role":"`+string(role)+`"}`)
}

func remove(id uuid.UUID, by string) call {
	return call{method: http.MethodDelete, path: "/api/members/" + id.String() + "/", token: by}
}

func leave(by string) call {
	return call{method: http.MethodDelete, path: "/api/members/me/", token: by}
}

// roleOf is the role of harbour's member, "" where the user is none.
func (s *stage) roleOf(tb testing.TB, id uuid.UUID) core.Role {
	tb.Helper()
	return core.Role(one[string](tb, s, `SELECT coalesce(max(role), '') FROM memberships
		WHERE user_id = $1 AND org_id = $2`, id, s.Harbour.ID))
}

func TestChangeMember(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner, admin := s.Harbour.Tokens.Owner, s.tokensOfRoles(t)[core.RoleAdmin]
	ownerID := one[uuid.UUID](t, s, `SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`)

	t.Run("HoldsFromTheNextRequestOn", func(t *testing.T) {
		t.Parallel()
		id := s.addMember(t, "promoted", core.RoleViewer)
		token := s.tokenOf(t, id, core.RoleOwner)
		s.refused(t, core.CodePermissionDenied, s.start(t, "").by(token))
		s.must(t, http.StatusOK, setRole(id, admin, core.RoleExecutor))
		s.started(t, s.start(t, "").by(token))
		s.must(t, http.StatusOK, setRole(id, admin, core.RoleExecutor))
		wantAudits(t, s, id, "member.set_role")
		s.must(t, http.StatusNoContent, remove(id, admin))
		s.refused(t, core.CodePermissionDenied, s.start(t, "").by(token))
		s.must(t, http.StatusNoContent, remove(id, admin))
		wantAudits(t, s, id, "member.set_role", "member.remove")
		s.refused(t, core.CodeNotFound, setRole(id, admin, core.RoleViewer))
	})

	t.Run("NobodyReachesAboveThemselves", func(t *testing.T) {
		t.Parallel()
		id := s.addMember(t, "raised", core.RoleViewer)
		s.refused(t, core.CodePermissionDenied, setRole(id, admin, core.RoleOwner))
		s.refused(t, core.CodePermissionDenied, setRole(ownerID, admin, core.RoleViewer))
		s.refused(t, core.CodePermissionDenied, remove(ownerID, admin))
		if id, want := s.roleOf(t, id), core.RoleViewer; id != want {
			t.Errorf("role = %s, want %s", id, want)
		}
	})

	t.Run("TheLastOwnerStays", func(t *testing.T) {
		t.Parallel()
		s.refused(t, core.CodeLastOwner, setRole(ownerID, owner, core.RoleAdmin))
		s.refused(t, core.CodeLastOwner, remove(ownerID, owner))
		if role := s.roleOf(t, ownerID); role != core.RoleOwner {
			t.Errorf("role = %q, want owner", role)
		}
		wantAudits(t, s, ownerID)
	})

	t.Run("LeaveWithTheWholeRole", func(t *testing.T) {
		t.Parallel()
		id := s.addMember(t, "going", core.RoleAuthor)
		s.refused(t, core.CodePermissionDenied, leave(s.tokenOf(t, id, core.RoleViewer)))
		token := s.tokenOf(t, id, core.RoleAuthor)
		s.must(t, http.StatusNoContent, leave(token))
		s.refused(t, core.CodePermissionDenied, call{path: "/api/me/", token: token})
		wantAudits(t, s, id, "member.leave")
		s.refused(t, core.CodeLastOwner, leave(owner))
	})

	t.Run("OtherOrganizationsAreNotTouched", func(t *testing.T) {
		t.Parallel()
		s.must(t, http.StatusNoContent, remove(ownerID, s.Tiny.Tokens.Owner))
		s.refused(t, core.CodeNotFound, setRole(ownerID, s.Tiny.Tokens.Owner, core.RoleViewer))
		s.refused(t, core.CodeNotFound, setRole(uuid.Nil, owner, core.RoleViewer).to("/api/members/me/"))
		if role := s.roleOf(t, ownerID); role != core.RoleOwner {
			t.Errorf("role = %q, want owner", role)
		}
	})
}

// TestOwnersLeaveAtOnce lets all owners of an organization leave at the same moment, by both ways.
func TestOwnersLeaveAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const owners, rounds = 4, 5
	ids := []uuid.UUID{one[uuid.UUID](t, s, `SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`)}
	tokens := []string{s.Harbour.Tokens.Owner}
	for i := range owners - 1 {
		ids = append(ids, s.addMember(t, "owner-"+string(rune('a'+i)), core.RoleOwner))
		tokens = append(tokens, s.tokenOf(t, ids[i+1], core.RoleOwner))
	}
	for round := range rounds {
		var group sync.WaitGroup
		answers := make([]answer, owners)
		for i := range owners {
			leave := remove(ids[i], tokens[i])
			if (i+round)%2 == 0 {
				leave = setRole(ids[i], tokens[i], core.RoleViewer)
			}
			group.Go(func() {
				got, err := s.send(t.Context(), leave)
				if err != nil {
					t.Error(err)
				}
				answers[i] = got
			})
		}
		group.Wait()
		stayed := slices.IndexFunc(answers, func(a answer) bool { return a.status == http.StatusUnprocessableEntity })
		if stayed < 0 {
			t.Fatalf("round %d: nobody was refused", round)
		}
		wantProblem(t, answers[stayed], core.CodeLastOwner)
		left := one[int64](t, s, `SELECT count(*) FROM memberships WHERE org_id = $1 AND role = 'owner'`, s.Harbour.ID)
		if left != 1 || s.roleOf(t, ids[stayed]) != core.RoleOwner {
			t.Fatalf("round %d: %d owners are left, want the one who was refused", round, left)
		}
		s.exec(t, `INSERT INTO memberships (org_id, user_id, role) SELECT $1, unnest($2::uuid[]), 'owner'
			ON CONFLICT ON CONSTRAINT memberships_pkey DO UPDATE SET role = 'owner'`, s.Harbour.ID, ids)
	}
}

func TestListMembers(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var emails []string
	address := "/api/members/?page_size=2"
	for address != "" {
		got := s.must(t, http.StatusOK, call{path: address, token: s.Harbour.Tokens.Viewer})
		page := decoded[core.Page[memberAnswer]](t, got)
		for _, member := range page.Results {
			emails = append(emails, member.Email)
		}
		address = string(page.Next)
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
	run := s.started(t, s.start(t, "").with("Request-Id", "req-of-start"))
	type record struct {
		ID         uuid.UUID `json:"id"`
		CreatedAt  string    `json:"created_at"`
		Actor      string    `json:"actor"`
		ActorEmail string    `json:"actor_email"`
		Token      string    `json:"token"`
		Action     string    `json:"action"`
		TargetType string    `json:"target_type"`
		TargetID   string    `json:"target_id"`
		RequestID  string    `json:"request_id"`
		Detail     string    `json:"detail"`
	}
	first := s.must(t, http.StatusOK, call{path: "/api/audit/?page_size=1", token: s.Harbour.Tokens.Owner})
	page := decoded[core.Page[record]](t, first)
	got := page.Results[0]
	want := record{
		ID: got.ID, CreatedAt: got.CreatedAt, ActorEmail: "executor@harbour-energy.example", Action: "run.start",
		TargetType: "run", TargetID: run.ID.String(), RequestID: "req-of-start",
		Actor: one[uuid.UUID](t, s, `SELECT created_by FROM validation_runs`).String(),
		Token: one[uuid.UUID](t, s, `SELECT token_id FROM audit_records WHERE action = 'run.start'`).String(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	next := s.must(t, http.StatusOK, call{path: string(page.Next), token: s.Harbour.Tokens.Owner})
	if older := decoded[core.Page[record]](t, next).Results[0]; older.Action != "token.create" || older.Actor != "" {
		t.Errorf("older record = %+v, want the operator's creation of a token", older)
	}
}
