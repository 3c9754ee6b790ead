package pages

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestRunPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor, viewer := s.Visitor(t, api.RoleExecutor), s.Visitor(t, api.RoleViewer)
	bad := s.Started(t, s.named(t, "ci-1842", "meter-readings.csv", "bad/meter-readings.csv"))
	html := s.see(t, fixture.Page(pageOfRun(bad.ID), executor))
	fixture.Shows(t, html, "meter-readings.csv is waiting to be checked.", "data-events=", "Refresh", "Cancel…",
		"later")
	fixture.Hides(t, html, "Rerun…", "Download the findings")
	s.Work(t)

	html = s.see(t, fixture.Page(pageOfRun(bad.ID), executor))
	fixture.Shows(t, html, "<title>✗ 8 · meter-readings · "+bad.ID[28:],
		"<strong>8 errors in meter-readings.csv.</strong>",
		"First: line 5, column kwh: &#34;n/a&#34; is not a number.", "Showing 8 of 8 findings",
		"csv.type.number", `MTR-1001,2026-03-01T03:00:00Z,<mark>n/a</mark>,A,night`,
		`data-copy="meter-readings.csv:5:31"`, "8 lines with findings", "Line 24", "Taken by a worker",
		`href="`+fixture.HarbourPages+"keys/", "Rerun…", "Download the findings",
		`href="`+metersPage+`launch/">Check the fixed document`)
	fixture.Hides(t, html, "data-events=", "Cancel…")
	if len(html) > maxPageBytes {
		t.Errorf("the page has %d bytes, want %d at most", len(html), maxPageBytes)
	}
	s.hides(t, fixture.Page(pageOfRun(bad.ID), viewer), "Rerun…", "Check the fixed document")

	good := s.Started(t, s.named(t, "", "", "good/meter-readings.csv"))
	warned := s.Started(t, s.named(t, "", "warn.csv", "warn/meter-readings.csv"))
	s.Work(t)
	s.shows(t, fixture.Page(pageOfRun(good.ID), viewer), "No errors found in document.", "No findings.",
		"none: a retry of the request would start another run", "<title>✓ · ")
	s.shows(t, fixture.Page(pageOfRun(warned.ID), viewer), "Passed with 1 warning: warn.csv.", "<title>! 1 · ")
	for _, id := range []string{uuid.NewString(), "1", "x"} {
		s.Visit(t, http.StatusNotFound, harbour("runs/"+id+"/", viewer))
	}
}

func TestRunPageTellsWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.Visitor(t, api.RoleExecutor)
	const lost = `The validator of step "Table" may have been called, and its answer was lost. ` +
		`It is not called again, because the workflow says that a call must not be repeated.`
	ended := func(assignments string, args ...any) string {
		id := s.Started(t, s.named(t, "", "a.csv", "good/meter-readings.csv")).ID
		s.Exec(t, `UPDATE validation_runs SET state = 'COMPLETED', started_at = now(), ended_at = now(),
			sweep_after = NULL, `+assignments+` WHERE id = $1`, append([]any{id}, args...)...)
		return s.see(t, fixture.Page(pageOfRun(id), executor))
	}
	html := ended(`result = 'ERROR', error = 'A worker died.', error_category = 'SYSTEM_ERROR'`)
	fixture.Shows(t, html, "We could not check a.csv.", "This is our fault", "A worker died.", "Trying again is safe.",
		"Platform error", "Not finished", "<title>! error · ")
	html = ended(`result = 'ERROR', error = $2, error_category = 'RUNTIME_ERROR'`, lost)
	fixture.Shows(t, html, "Ask the operator of that validator")
	fixture.Hides(t, html, "Trying again is safe.")
	html = ended(`result = 'TIMED_OUT', error = 'It took 60 s.', error_category = 'TIMEOUT'`)
	fixture.Shows(t, html, "took too long and was stopped", "It took 60 s.", "Timed out")
	html = ended(`result = 'CANCELED', error = 'The card was declined.'`)
	fixture.Shows(t, html, "The card was declined.", "Canceled before a.csv was checked", "<title>– · ")
	html = ended(`result = 'FAIL', error_count = 4312, error_category = 'VALIDATION_FAILED', content_purged_at = now(),
		findings_purged_at = now()`)
	fixture.Shows(t, html, "4,312 errors in a.csv.", "no longer kept: removed", "The findings were removed")
	fixture.Hides(t, html, "Rerun…", "Showing")
}

func TestRunPageOfManyFindings(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	id := s.Started(t, s.manyFindings(t)).ID
	s.Work(t)
	found := coretest.One[int64](t, s.DB, `SELECT error_count + warning_count FROM validation_runs WHERE id = $1`, id)
	html := s.see(t, fixture.Page(pageOfRun(id), viewer))
	fixture.Shows(t, html, "Showing 50 of ", "are listed one by one",
		"more than 100 errors", "shown here", "with findings that are listed", `rel="next"`)
	if found < 600 || strings.Count(html, `class="first"`) != 50 {
		t.Errorf("%d findings, %d on the page, want 50 of many", found, strings.Count(html, `class="first"`))
	}
	if nodes := strings.Count(html, "<") - strings.Count(html, "</"); nodes > 1500 {
		t.Errorf("the page has %d elements, want 1500 at most", nodes)
	}
	if len(html) > maxPageBytes {
		t.Errorf("the page has %d bytes, want %d at most", len(html), maxPageBytes)
	}
	next := regexp.MustCompile(`href="([^"#]*)#findings" rel="next"`).FindStringSubmatch(html)
	html = s.see(t, fixture.Page(strings.ReplaceAll(next[1], "&amp;", "&"), viewer))
	fixture.Shows(t, html, `rel="prev"`)
}

func TestRunPagesOfHostileNames(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	const name = "\u202e<script>alert(1)</script>.csv"
	key := strings.Repeat(`<b>"k`, 51)
	run := s.Started(t, s.Start(t, key).WithBody("text/csv",
		"meter_id,read_at,kwh,quality,tariff\n<script>,<img src=x>,\u202e<b>,Q,\n"))
	s.Exec(t, `UPDATE submissions SET filename = $2, name = $2, short_description = $2 WHERE id = $1`,
		run.Submission, name)
	s.Work(t)
	for _, address := range []string{pageOfRun(run.ID), fixture.HarbourPages + "runs/"} {
		html := s.see(t, fixture.Page(address, viewer))
		fixture.Shows(t, html, "&lt;script&gt;alert(1)&lt;/script&gt;.csv")
		fixture.Hides(t, html, "<script>alert", "\u202e", "<img src=x", "<b>\"k")
	}
	for _, query := range []string{"workflow=%00", "idempotency_key=%00", "result=%00", "workflow=%ff"} {
		got := s.AnswerTo(t, harbour("runs/?"+query, viewer))
		if got.Status != http.StatusBadRequest && got.Status != http.StatusOK {
			t.Errorf("%s: status = %d, want 200 or 400", query, got.Status)
		}
	}
}
