package api

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// TestEveryRouteThatWritesIsAudited makes a call that succeeds for every route that writes. They are those of the
// access table, except where an owner of harbour has nothing to do there.
func TestEveryRouteThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	// An external service answers there. The run's steps say what and when.
	s.WantAudited(t, "/api/", []string{"POST /api/callbacks/:id/"}, s.writes(t))
}

func TestNoRouteLeavesASecret(t *testing.T) {
	t.Parallel()
	fixture.KeepsNoSecret(t, func(served *fixture.Stage) map[string]call { return (&stage{served}).writes(t) })
}

// writes has a call that succeeds for every route that writes, and those that read.
func (s *stage) writes(t *testing.T) map[string]call {
	t.Helper()
	calls := map[string]call{}
	for name, row := range s.accessTable(t) {
		token := s.Harbour.Tokens.Owner
		if row.Leaves {
			token = s.TokenOf(t, s.AddMember(t, "departing", api.RoleViewer), api.RoleViewer)
		}
		calls[name] = row.Call.As(api.RoleOwner).By(token)
	}
	// Making the table executes the runs that wait.
	calls["POST /api/runs/:id/cancel/"] = s.Cancel(s.Started(t, s.Start(t, "")).ID)
	const email = "owner@tiny-quota.example"
	for _, rest := range []string{"/accept/", "/decline/"} {
		calls["POST /api/invitations/:id"+rest] = call{
			Method: http.MethodPost, Path: "/api/invitations/" + s.InvitedElsewhere(t, email) + rest,
			Token: s.Tiny.Tokens.Owner,
		}
	}
	return calls
}
