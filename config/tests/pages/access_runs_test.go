package pages

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// accessToRunPages are the pages of runs.
func (s *stage) accessToRunPages(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	finished := s.Started(tb, s.Start(tb, "")).ID
	s.Work(tb)
	waiting := s.Started(tb, s.Start(tb, "")).ID
	selected := s.Started(tb, s.Start(tb, "")).ID
	run := func(id string) string { return "runs/" + id + "/" }
	page := func(path string) fixture.Access { return orgPage(path, api.RoleViewer) }
	form := func(path string, fields url.Values) fixture.Access {
		return orgForm(path, fields, api.RoleExecutor, http.StatusSeeOther)
	}
	// A page that shows the run as it ended gets no events.
	events := page("events/?run=" + finished + ".2147483647")
	events.OK = http.StatusNoContent
	return map[string]fixture.Access{
		"GET /app/orgs/:org/runs/":        page("runs/"),
		"GET /app/orgs/:org/export-runs/": page("export-runs/"),
		"POST /app/orgs/:org/select-runs/": form("select-runs/", url.Values{
			"action": {"cancel"}, "confirmed": {"true"}, "run": {selected},
		}),
		"GET /app/orgs/:org/runs/:id/":                  page(run(finished)),
		"GET /app/orgs/:org/runs/:id/findings/:format/": page(run(finished) + "findings/sarif/"),
		"GET /app/orgs/:org/runs/:id/comparison/":       page(run(finished) + "comparison/"),
		"GET /app/orgs/:org/runs/:id/document/":         page(run(finished) + "document/"),
		"GET /app/orgs/:org/runs/:id/document/content/": page(run(finished) + "document/content/"),
		"POST /app/orgs/:org/runs/:id/cancel/":          form(run(waiting)+"cancel/", nil),
		"POST /app/orgs/:org/runs/:id/rerun/": form(run(finished)+"rerun/",
			url.Values{"key": {idempotency.NewFormKey()}}),
		"GET /app/orgs/:org/events/": events,
	}
}
