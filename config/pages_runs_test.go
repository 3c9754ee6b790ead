package config_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// pageOfRun is the address of a run's page.
func pageOfRun(id uuid.UUID) string { return harbourPages + "runs/" + id.String() + "/" }

// named is a start of a document with a name.
func (s *stage) named(tb testing.TB, key, filename, sample string) call {
	tb.Helper()
	return s.start(tb, key).with("X-Filename", filename).withBody("text/csv", sampleText(tb, sample))
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
	viewer := s.visitor(t, core.RoleViewer)
	list := page(harbourPages+"runs/", viewer)

	shows(t, s.visit(t, http.StatusOK, list), "No runs yet", "Idempotency-Key: ", "curl -i ",
		s.settings.Address()+"/api/workflows/")

	bad := s.started(t, s.named(t, "ci-1842", "bad.csv", "bad/meter-readings.csv")).ID
	warned := s.started(t, s.named(t, "", "warn.csv", "warn/meter-readings.csv")).ID
	s.work(t)
	waiting := s.started(t, s.named(t, "k-3", "late.csv", "good/meter-readings.csv")).ID
	s.exec(t, `INSERT INTO key_activity (org_id, key_id, replays)
		SELECT org_id, id, 3 FROM idempotency_keys WHERE key = 'ci-1842'`)
	s.exec(t, `UPDATE validation_runs SET source = 'CLI' WHERE id = $1`, warned)

	html := s.visit(t, http.StatusOK, list)
	if diff := cmp.Diff([]string{waiting.String(), warned.String(), bad.String()}, listed(html)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	shows(t, html, "bad.csv", "8 errors", "Failed", "replays ×3", "ci-1842", "warn.csv", "Passed with warnings",
		"1 warning", "no key", "late.csv", "Waiting", `href="`+pageOfRun(bad)+`"`)

	for query, want := range map[string][]uuid.UUID{
		"result=FAIL":                              {bad},
		"result=&state=PENDING&workflow=":          {waiting},
		"workflow=meter-readings&source=CLI":       {warned},
		"idempotency_key=k-3":                      {waiting},
		"since=2026-01-01T00:00&result=PASS":       {warned},
		"until=2026-01-01":                         nil,
		"since=2026-01-01T00:00:00Z&state=RUNNING": nil,
	} {
		html := s.visit(t, http.StatusOK, list.to(harbourPages+"runs/?"+query))
		ids := make([]string, 0, len(want))
		for _, id := range want {
			ids = append(ids, id.String())
		}
		if got := listed(html); strings.Join(got, " ") != strings.Join(ids, " ") {
			t.Errorf("%s lists %v, want %v", query, got, ids)
		}
		if len(want) == 0 {
			shows(t, html, "No run matches these filters.")
		}
	}
	html = s.visit(t, http.StatusBadRequest, list.to(harbourPages+"runs/?result=MAYBE&workflow=kept"))
	hides(t, html, "Start a run")
	shows(t, s.visit(t, http.StatusOK, list.in(s.visitor(t, core.RoleExecutor))), `href="`+harbourPages+`launch/"`)
	shows(t, s.visit(t, http.StatusBadRequest, list.to(harbourPages+"runs/?since=yesterday")), `href="#since"`,
		`value="yesterday"`, "must be a day or a time like 2026-03-01 09:30, in UTC")
	shows(t, html, `href="#result"`, `id="result"`, `value="kept"`, "must be one of")
}

func TestRunsPageTurns(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for range core.DefaultPageSize + 1 {
		s.started(t, s.start(t, ""))
	}
	viewer := s.visitor(t, core.RoleViewer)
	first := s.visit(t, http.StatusOK, page(harbourPages+"runs/?source=API", viewer))
	if got := len(listed(first)); got != core.DefaultPageSize {
		t.Errorf("the first page lists %d runs, want %d", got, core.DefaultPageSize)
	}
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(first)
	if len(next) == 0 || !strings.Contains(next[1], "source=API") {
		t.Fatalf("next = %v, want a link that keeps the filter", next)
	}
	second := s.visit(t, http.StatusOK, page(strings.ReplaceAll(next[1], "&amp;", "&"), viewer))
	if got := len(listed(second)); got != 1 {
		t.Errorf("the second page lists %d runs, want 1", got)
	}
	shows(t, second, `rel="prev"`)
	hides(t, second, `rel="next"`, "data-live-new")
	if len(first) > maxPageBytes {
		t.Errorf("the page has %d bytes, want %d at most", len(first), maxPageBytes)
	}
}

// maxPageBytes is what a page may weigh.
const maxPageBytes = 60 << 10
