package config_test

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

func accessToOverview() map[string]access {
	return map[string]access{
		"GET /app/orgs/:org/":        orgPage("", core.RoleViewer),
		"GET /app/orgs/:org/search/": orgPage("search/?q=nothing", core.RoleViewer),
	}
}

func TestOverviewOfTheFirstRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)

	html := s.visit(t, http.StatusOK, page(harbourPages, viewer))
	shows(t, html, "Waiting for your first request", "curl -i "+s.settings.Address()+"/api/workflows/",
		"Idempotency-Key: ", "data-events=")
	hides(t, html, "Latest runs", "data-live-new")

	s.exec(t, `UPDATE workflows SET is_active = false`)
	shows(t, s.visit(t, http.StatusOK, page(harbourPages, viewer)), "There is no workflow to check documents with yet")
}

func TestOverview(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	failed := s.started(t, s.named(t, "ci-1842", "<b>bad.csv", "bad/meter-readings.csv")).ID
	s.started(t, s.named(t, "", "good.csv", "good/meter-readings.csv"))
	s.work(t)
	for range 3 {
		s.started(t, s.named(t, "ci-1842", "<b>bad.csv", "bad/meter-readings.csv"))
	}
	s.started(t, s.start(t, "foreign").by(s.Tiny.Tokens.Executor))
	s.flush(t)

	html := s.visit(t, http.StatusOK, page(harbourPages, viewer))
	shows(t, html, "1 failed on data, 0 platform errors", "duplicate runs avoided",
		"no key is stuck and no run is late",
		"2 of 1,000,000 runs used", "1 passed, 1 failed, 0 platform errors, 3 replayed",
		"Start latency, last 24 hours: 2 new starts, p50 ", "interpolated", "From start to result: p50 ",
		`href="`+pageOfRun(failed)+`"`, "/runs/?since=", "&lt;b&gt;bad.csv")
	hides(t, html, "<b>bad", "Needs attention</span><b>1", "foreign")
	if got := listed(html); len(got) != 2 {
		t.Errorf("latest runs = %v, want harbour's 2", got)
	}
	shows(t, s.visit(t, http.StatusOK, page("/app/orgs/tiny-quota/", s.stranger(t))), "1 of 3 runs used")
}

func TestOverviewSaysWhatNeedsAttention(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	s.strandedKey(t, "stranded")
	s.started(t, s.start(t, ""))
	s.exec(t, `UPDATE validation_runs SET sweeps = 1`)
	html := s.visit(t, http.StatusOK, page(harbourPages, viewer))
	shows(t, html, "1 stuck key, 1 late run", "<title>! 2 · Overview", `href="`+harbourPages+`keys/?state=abandoned"`)
}

// TestOverviewShowsOldRuns is about an organization that has rested for more than a day.
func TestOverviewShowsOldRuns(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.started(t, s.start(t, ""))
	s.work(t)
	s.exec(t, `UPDATE validation_runs SET created_at = created_at - interval '2 days'`)
	html := s.visit(t, http.StatusOK, page(harbourPages, s.visitor(t, core.RoleViewer)))
	shows(t, html, "No run was started or replayed in the last 24 hours", "Latest runs")
}
