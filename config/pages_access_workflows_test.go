package config_test

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

// accessToWorkflowPages are the pages of workflows and of launching runs.
func (s *stage) accessToWorkflowPages(tb testing.TB) map[string]access {
	tb.Helper()
	const workflow = harbourPages + "workflows/meter-readings/"
	launch := upload{filename: "readings.csv", contentType: "text/csv", content: "a,b\n"}.
		with("key", newFormKey(tb)).to(tb, workflow+"launch/", "")
	by := func(least core.Role, c call, ok int) access {
		return access{call: c, least: least, ok: ok, foreign: http.StatusNotFound}
	}
	return map[string]access{
		"GET /app/orgs/:org/launch/": by(core.RoleViewer, page(harbourPages+"launch/", ""), http.StatusSeeOther),
		"GET /app/orgs/:org/workflows/:id/launch/": by(core.RoleExecutor, page(workflow+"launch/", ""),
			http.StatusOK),
		"POST /app/orgs/:org/workflows/:id/launch/": by(core.RoleExecutor, launch, http.StatusSeeOther),
		"GET /app/orgs/:org/workflows/:id/launch/:key/": by(core.RoleExecutor,
			page(workflow+"launch/"+newFormKey(tb)+"/", ""), http.StatusOK),
	}
}
