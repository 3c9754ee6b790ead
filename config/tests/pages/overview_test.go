package pages

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func accessToOverview() map[string]fixture.Access {
	return map[string]fixture.Access{
		"GET /app/orgs/:org/":        orgPage("", api.RoleViewer),
		"GET /app/orgs/:org/search/": orgPage("search/?q=nothing", api.RoleViewer),
	}
}

func TestOverviewOfTheFirstRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)

	html := s.see(t, harbour("", viewer))
	fixture.Shows(t, html, "Waiting for your first request", "curl -i "+s.Settings.Address()+"/api/workflows/",
		"Idempotency-Key: ", "data-events=")
	fixture.Hides(t, html, "Latest runs", "data-live-new")

	s.Exec(t, `UPDATE workflows SET is_active = false`)
	s.shows(t, harbour("", viewer), "There is no workflow to check documents with yet")
}

func TestOverview(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	failed := s.Started(t, s.named(t, "ci-1842", "<b>bad.csv", "bad/meter-readings.csv")).ID
	s.Started(t, s.named(t, "", "good.csv", "good/meter-readings.csv"))
	s.Work(t)
	for range 3 {
		s.Started(t, s.named(t, "ci-1842", "<b>bad.csv", "bad/meter-readings.csv"))
	}
	s.Started(t, s.Start(t, "foreign").By(s.Tiny.Tokens.Executor))
	s.Flush(t)

	html := s.see(t, harbour("", viewer))
	fixture.Shows(t, html, "1 failed on data, 0 platform errors", "duplicate runs avoided",
		"no key is stuck and no run is late",
		"2 of 1,000,000 runs used", "1 passed, 1 failed, 0 platform errors, 3 replayed",
		"Start latency, last 24 hours: 2 new starts, p50 ", "Interpolated from the counts",
		`From start to result</dt><dd title="Waited for a worker: p95 `,
		`href="`+pageOfRun(failed)+`"`, "/runs/?since=", "&lt;b&gt;bad.csv")
	fixture.Hides(t, html, "<b>bad", "Needs attention</span><b>1", "foreign")
	if got := listed(html); len(got) != 2 {
		t.Errorf("latest runs = %v, want harbour's 2", got)
	}
	s.shows(t, fixture.Page("/app/orgs/tiny-quota/", s.Stranger(t)), "1 of 3 runs used")
}

func TestOverviewSaysWhatNeedsAttention(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	s.strandedKey(t, "stranded")
	s.Started(t, s.Start(t, ""))
	s.Exec(t, `UPDATE validation_runs SET sweeps = 1`)
	html := s.see(t, harbour("", viewer))
	fixture.Shows(t, html, "1 stuck key, 1 late run", "<title>! 2 · Overview",
		`href="`+fixture.HarbourPages+`keys/?state=abandoned"`)
}
