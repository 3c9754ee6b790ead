package pages

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// accessToRunPages are the pages of runs.
func (s *stage) accessToRunPages(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	finished := s.Started(tb, s.Start(tb, "")).ID
	s.Work(tb)
	waiting := s.Started(tb, s.Start(tb, "")).ID
	selected := s.Started(tb, s.Start(tb, "")).ID
	run := func(id string) string { return fixture.HarbourPages + "runs/" + id + "/" }
	rerun := fixture.Post(run(finished)+"rerun/", "", url.Values{"key": {newFormKey(tb)}})
	by := func(least api.Role, c call, ok int) fixture.Access {
		return fixture.Access{Call: c, Least: least, OK: ok, Foreign: http.StatusNotFound}
	}
	return map[string]fixture.Access{
		"GET /app/orgs/:org/runs/": by(api.RoleViewer, fixture.Page(fixture.HarbourPages+"runs/", ""),
			http.StatusOK),
		"GET /app/orgs/:org/export-runs/": by(api.RoleViewer, fixture.Page(fixture.HarbourPages+"export-runs/", ""),
			http.StatusOK),
		"POST /app/orgs/:org/select-runs/": by(api.RoleExecutor,
			fixture.Post(fixture.HarbourPages+"select-runs/", "", url.Values{
				"action": {"cancel"}, "confirmed": {"true"}, "run": {selected},
			}), http.StatusSeeOther),
		"GET /app/orgs/:org/runs/:id/": by(api.RoleViewer, fixture.Page(run(finished), ""), http.StatusOK),
		"GET /app/orgs/:org/runs/:id/findings/:format/": by(api.RoleViewer,
			fixture.Page(run(finished)+"findings/sarif/", ""), http.StatusOK),
		"GET /app/orgs/:org/runs/:id/comparison/": by(api.RoleViewer,
			fixture.Page(run(finished)+"comparison/", ""), http.StatusOK),
		"GET /app/orgs/:org/runs/:id/document/": by(api.RoleViewer,
			fixture.Page(run(finished)+"document/", ""), http.StatusOK),
		"GET /app/orgs/:org/runs/:id/document/content/": by(api.RoleViewer,
			fixture.Page(run(finished)+"document/content/", ""), http.StatusOK),
		"POST /app/orgs/:org/runs/:id/cancel/": by(api.RoleExecutor,
			fixture.Post(run(waiting)+"cancel/", "", nil), http.StatusSeeOther),
		"POST /app/orgs/:org/runs/:id/rerun/": by(api.RoleExecutor, rerun, http.StatusSeeOther),
		// A page that shows the run as it ended gets no events.
		"GET /app/orgs/:org/events/": by(api.RoleViewer,
			fixture.Page(fixture.HarbourPages+"events/?run="+finished+".2147483647", ""), http.StatusNoContent),
	}
}
