package config_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestRunPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor, viewer := s.visitor(t, core.RoleExecutor), s.visitor(t, core.RoleViewer)
	bad := s.started(t, s.named(t, "ci-1842", "meter-readings.csv", "bad/meter-readings.csv"))
	html := s.visit(t, http.StatusOK, page(pageOfRun(bad.ID), executor))
	shows(t, html, "meter-readings.csv is waiting to be checked.", "data-events=", "Refresh", "Cancel…", "later")
	hides(t, html, "Rerun…", "Download the findings")
	s.work(t)

	html = s.visit(t, http.StatusOK, page(pageOfRun(bad.ID), executor))
	shows(t, html, "<title>✗ 8 · meter-readings · "+bad.ID.String()[28:],
		"<strong>8 errors in meter-readings.csv.</strong>",
		"First: line 5, column kwh: &#34;n/a&#34; is not a number.", "Showing 8 of 8 findings",
		"csv.type.number", `MTR-1001,2026-03-01T03:00:00Z,<mark>n/a</mark>,A,night`,
		`data-copy="meter-readings.csv:5:31"`, "8 lines with findings", "Line 24", "Taken by a worker",
		`href="`+harbourPages+"keys/", "Rerun…", "Download the findings",
		`href="`+metersPage+`launch/">Check the fixed document`)
	hides(t, html, "data-events=", "Cancel…")
	if len(html) > maxPageBytes {
		t.Errorf("the page has %d bytes, want %d at most", len(html), maxPageBytes)
	}
	hides(t, s.visit(t, http.StatusOK, page(pageOfRun(bad.ID), viewer)), "Rerun…", "Check the fixed document")

	good := s.started(t, s.named(t, "", "", "good/meter-readings.csv"))
	warned := s.started(t, s.named(t, "", "warn.csv", "warn/meter-readings.csv"))
	s.work(t)
	shows(t, s.visit(t, http.StatusOK, page(pageOfRun(good.ID), viewer)), "No errors found in document.",
		"No findings.", "none: a retry of the request would start another run", "<title>✓ · ")
	shows(t, s.visit(t, http.StatusOK, page(pageOfRun(warned.ID), viewer)), "Passed with 1 warning: warn.csv.",
		"<title>! 1 · ")
	for _, id := range []string{uuid.NewString(), "1", "x"} {
		s.visit(t, http.StatusNotFound, page(harbourPages+"runs/"+id+"/", viewer))
	}
}

func TestRunPageTellsWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.visitor(t, core.RoleExecutor)
	const lost = `The validator of step "Table" may have been called, and its answer was lost. ` +
		`It is not called again, because the workflow says that a call must not be repeated.`
	ended := func(assignments string, args ...any) string {
		id := s.started(t, s.named(t, "", "a.csv", "good/meter-readings.csv")).ID
		s.exec(t, `UPDATE validation_runs SET state = 'COMPLETED', started_at = now(), ended_at = now(),
			sweep_after = NULL, `+assignments+` WHERE id = $1`, append([]any{id}, args...)...)
		return s.visit(t, http.StatusOK, page(pageOfRun(id), executor))
	}
	html := ended(`result = 'ERROR', error = 'A worker died.', error_category = 'SYSTEM_ERROR'`)
	shows(t, html, "We could not check a.csv.", "This is our fault", "A worker died.", "Trying again is safe.",
		"Platform error", "Not finished", "<title>! error · ")
	html = ended(`result = 'ERROR', error = $2, error_category = 'RUNTIME_ERROR'`, lost)
	shows(t, html, "Ask the operator of that validator")
	hides(t, html, "Trying again is safe.")
	html = ended(`result = 'TIMED_OUT', error = 'It took 60 s.', error_category = 'TIMEOUT'`)
	shows(t, html, "took too long and was stopped", "It took 60 s.", "Timed out")
	html = ended(`result = 'CANCELED', error = 'The card was declined.'`)
	shows(t, html, "The card was declined.", "Canceled before a.csv was checked", "<title>– · ")
	html = ended(`result = 'FAIL', error_count = 4312, error_category = 'VALIDATION_FAILED', content_purged_at = now(),
		findings_purged_at = now()`)
	shows(t, html, "4,312 errors in a.csv.", "no longer kept: removed", "The findings were removed")
	hides(t, html, "Rerun…", "Showing")
}

func TestRunPageOfManyFindings(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	id := s.started(t, s.manyFindings(t)).ID
	s.work(t)
	found := one[int64](t, s, `SELECT error_count + warning_count FROM validation_runs WHERE id = $1`, id)
	html := s.visit(t, http.StatusOK, page(pageOfRun(id), viewer))
	shows(t, html, "Showing 100 of ", "are listed one by one",
		"more than 100 errors", "shown here", "with findings that are listed", `rel="next"`)
	if found < 600 || strings.Count(html, `class="first"`) != 100 {
		t.Errorf("%d findings, %d on the page, want 100 of many", found, strings.Count(html, `class="first"`))
	}
	if nodes := strings.Count(html, "<") - strings.Count(html, "</"); nodes > 1500 {
		t.Errorf("the page has %d elements, want 1500 at most", nodes)
	}
	if len(html) > maxPageBytes {
		t.Errorf("the page has %d bytes, want %d at most", len(html), maxPageBytes)
	}
	next := regexp.MustCompile(`href="([^"#]*)#findings" rel="next"`).FindStringSubmatch(html)
	html = s.visit(t, http.StatusOK, page(strings.ReplaceAll(next[1], "&amp;", "&"), viewer))
	shows(t, html, `rel="prev"`)
}

func TestRunPagesOfHostileNames(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	const name = "\u202e<script>alert(1)</script>.csv"
	key := strings.Repeat(`<b>"k`, 51)
	run := s.started(t, s.start(t, key).withBody("text/csv",
		"meter_id,read_at,kwh,quality,tariff\n<script>,<img src=x>,\u202e<b>,Q,\n"))
	s.exec(t, `UPDATE submissions SET filename = $2, name = $2, short_description = $2 WHERE id = $1`,
		run.Submission, name)
	s.work(t)
	for _, address := range []string{pageOfRun(run.ID), harbourPages + "runs/"} {
		html := s.visit(t, http.StatusOK, page(address, viewer))
		shows(t, html, "&lt;script&gt;alert(1)&lt;/script&gt;.csv")
		hides(t, html, "<script>alert", "\u202e", "<img", "<b>\"k")
	}
	for _, query := range []string{"workflow=%00", "idempotency_key=%00", "result=%00", "workflow=%ff"} {
		got := s.answerTo(t, page(harbourPages+"runs/?"+query, viewer))
		if got.status != http.StatusBadRequest && got.status != http.StatusOK {
			t.Errorf("%s: status = %d, want 200 or 400", query, got.status)
		}
	}
}
