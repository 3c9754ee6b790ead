package pages

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// pageOfRun is the address of a run's page.
func pageOfRun(id string) string { return fixture.HarbourPages + "runs/" + id + "/" }

// named is a start of a document with a name.
func (s *stage) named(tb testing.TB, key, filename, sample string) call {
	tb.Helper()
	return s.Start(tb, key).With("X-Filename", filename).WithBody("text/csv", fixture.SampleText(tb, sample))
}

// listed are the ids of the runs that a page lists, in its order.
func listed(html string) []string {
	var ids []string
	for _, row := range regexp.MustCompile(`<tr id="run-([0-9a-f-]{36})"`).FindAllStringSubmatch(html, -1) {
		ids = append(ids, row[1])
	}
	return ids
}

func TestRunsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	list := harbour("runs/", viewer)

	s.shows(t, list, "No runs yet", "Idempotency-Key: ", "curl -i ", s.Settings.Address()+"/api/workflows/")

	bad := s.Started(t, s.named(t, "ci-1842", "bad.csv", "bad/meter-readings.csv")).ID
	warned := s.Started(t, s.named(t, "", "warn.csv", "warn/meter-readings.csv")).ID
	s.Work(t)
	waiting := s.Started(t, s.named(t, "k-3", "late.csv", "good/meter-readings.csv")).ID
	s.Exec(t, `INSERT INTO key_activity (org_id, key_id, replays)
		SELECT org_id, id, 3 FROM idempotency_keys WHERE key = 'ci-1842'`)
	s.Exec(t, `UPDATE validation_runs SET source = 'CLI' WHERE id = $1`, warned)

	html := s.see(t, list)
	if diff := cmp.Diff([]string{waiting, warned, bad}, listed(html)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	fixture.Shows(t, html, "bad.csv", "8 errors", "Failed", `replays </span>×3`, "ci-1842", "warn.csv",
		`pill warn"><span aria-hidden="true">!</span> Passed`, "1 warning", "no key", "late.csv", "Waiting",
		`href="`+pageOfRun(bad)+`"`)

	for query, want := range map[string][]string{
		"result=FAIL":                              {bad},
		"result=&state=PENDING&workflow=":          {waiting},
		"workflow=meter-readings&source=CLI":       {warned},
		"idempotency_key=k-3":                      {waiting},
		"since=2026-01-01T00:00&result=PASS":       {warned},
		"until=2026-01-01":                         nil,
		"since=2026-01-01T00:00:00Z&state=RUNNING": nil,
	} {
		html := s.see(t, list.To(fixture.HarbourPages+"runs/?"+query))
		if got := listed(html); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
		if len(want) == 0 {
			fixture.Shows(t, html, "No run matches these filters.")
		}
	}
	html = s.Visit(t, http.StatusBadRequest, list.To(fixture.HarbourPages+"runs/?result=MAYBE&workflow=kept"))
	fixture.Hides(t, html, "Start a run")
	s.shows(t, list.In(s.Visitor(t, api.RoleExecutor)), `href="`+fixture.HarbourPages+`launch/"`)
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, list.To(fixture.HarbourPages+"runs/?since=yesterday")),
		`href="#since"`, `value="yesterday"`, "must be a day or a time like 2026-03-01 09:30, in UTC")
	fixture.Shows(t, html, `href="#result"`, `id="result"`, `value="kept"`, "must be one of")
}

func TestRunsPageTurns(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for range core.DefaultPageSize + 1 {
		s.Started(t, s.Start(t, ""))
	}
	viewer := s.Visitor(t, api.RoleViewer)
	first := s.see(t, harbour("runs/?source=API", viewer))
	if got := len(listed(first)); got != core.DefaultPageSize {
		t.Errorf("the first page lists %d runs, want %d", got, core.DefaultPageSize)
	}
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(first)
	if len(next) == 0 || !strings.Contains(next[1], "source=API") {
		t.Fatalf("next = %v, want a link that keeps the filter", next)
	}
	second := s.see(t, fixture.Page(strings.ReplaceAll(next[1], "&amp;", "&"), viewer))
	if got := len(listed(second)); got != 1 {
		t.Errorf("the second page lists %d runs, want 1", got)
	}
	fixture.Shows(t, second, `rel="prev"`)
	fixture.Hides(t, second, `rel="next"`, "data-live-new")
	if len(first) > maxPageBytes {
		t.Errorf("the page has %d bytes, want %d at most", len(first), maxPageBytes)
	}
}

// maxPageBytes is what a page may weigh.
const maxPageBytes = 60 << 10
