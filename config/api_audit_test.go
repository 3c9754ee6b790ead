package config_test

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

// TestEveryRouteThatWritesIsAudited makes a call that succeeds for every route that writes. They are those of the access
// table, except where an owner of harbour has nothing to do there.
func TestEveryRouteThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	calls := map[string]call{}
	for name, row := range s.accessTable(t) {
		token := s.Harbour.Tokens.Owner
		if row.leaves {
			token = s.tokenOf(t, s.addMember(t, "departing", core.RoleViewer), core.RoleViewer)
		}
		calls[name] = row.call.as(core.RoleOwner).by(token)
	}
	// Making the table executes the runs that wait.
	calls["POST /api/runs/:id/cancel/"] = s.cancel(s.started(t, s.start(t, "")).ID)
	const email = "owner@tiny-quota.example"
	for _, rest := range []string{"/accept/", "/decline/"} {
		calls["POST /api/invitations/:id"+rest] = call{
			method: http.MethodPost, path: "/api/invitations/" + s.invitedElsewhere(t, email) + rest,
			token: s.Tiny.Tokens.Owner,
		}
	}
	// An external service answers there. The run's steps say what and when.
	s.wantAudited(t, "/api/", []string{"POST /api/callbacks/:id/"}, calls)
}
