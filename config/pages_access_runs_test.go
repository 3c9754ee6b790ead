package config_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

// accessToRunPages are the pages of runs.
func (s *stage) accessToRunPages(tb testing.TB) map[string]access {
	tb.Helper()
	finished := s.started(tb, s.start(tb, "")).ID.String()
	s.work(tb)
	waiting := s.started(tb, s.start(tb, "")).ID.String()
	run := func(id string) string { return harbourPages + "runs/" + id + "/" }
	rerun := post(run(finished)+"rerun/", "", url.Values{"key": {newFormKey(tb)}})
	by := func(least core.Role, c call, ok int) access {
		return access{call: c, least: least, ok: ok, foreign: http.StatusNotFound}
	}
	return map[string]access{
		"GET /app/orgs/:org/runs/":     by(core.RoleViewer, page(harbourPages+"runs/", ""), http.StatusOK),
		"GET /app/orgs/:org/runs/:id/": by(core.RoleViewer, page(run(finished), ""), http.StatusOK),
		"GET /app/orgs/:org/runs/:id/findings/:format/": by(core.RoleViewer,
			page(run(finished)+"findings/sarif/", ""), http.StatusOK),
		"POST /app/orgs/:org/runs/:id/cancel/": by(core.RoleExecutor,
			post(run(waiting)+"cancel/", "", nil), http.StatusSeeOther),
		"POST /app/orgs/:org/runs/:id/rerun/": by(core.RoleExecutor, rerun, http.StatusSeeOther),
		// Of a page that shows the run as it ended, nothing is told.
		"GET /app/orgs/:org/events/": by(core.RoleViewer,
			page(harbourPages+"events/?run="+finished+".2147483647", ""), http.StatusNoContent),
	}
}
