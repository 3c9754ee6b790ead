package pages

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestComparisonPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	checked := func(document string) string {
		t.Helper()
		run := s.Started(t, s.Start(t, "").WithBody("text/csv", document))
		s.Exec(t, `UPDATE submissions SET filename = 'a.csv' WHERE id = $1`, run.Submission)
		s.Work(t)
		return run.ID
	}
	page := func(id string) string {
		t.Helper()
		return s.see(t, fixture.Page(pageOfRun(id)+"comparison/", viewer))
	}
	bad := fixture.SampleText(t, "bad/meter-readings.csv")
	first := checked(bad)
	fixture.Shows(t, page(first), "There is no earlier run of this workflow on the same file")
	// A row above all findings, one of them mended, and another one in its place.
	lines := strings.Split(bad, "\n")
	lines[1] += "\nMTR-1001,2026-02-01T00:00:00Z,1,A,night"
	second := checked(strings.NewReplacer("n/a", "1.5", "-12.5", "-13.5").Replace(strings.Join(lines, "\n")))
	html := page(second)
	fixture.Shows(t, html, `href="`+pageOfRun(first)+`"`, "1 new", "2 gone", "6 the same",
		"<b>Line 10:</b>", "kwh -13.5 is less than 0", "<b>Line 5:</b>", "is not a number", "<b>Line 9:</b>",
		// A line that is new is one of this run, and a line that is gone one of the other.
		pageOfDocument(second)+"?line=10", pageOfDocument(first)+"?line=5")
	fixture.Hides(t, html, "Both runs have the same", "not kept one by one")

	fixture.Shows(t, page(checked(strings.NewReplacer("n/a", "1.5", "-12.5", "-13.5").
		Replace(strings.Join(lines, "\n")))), "0 new", "0 gone", "Both runs have the same 7 findings, and no other.")

	s.Exec(t, `UPDATE validation_runs SET findings_purged_at = now() WHERE id = $1`, first)
	s.Exec(t, `DELETE FROM findings WHERE run_id = $1`, first)
	fixture.Shows(t, page(second), "7 new", "not kept one by one")

	waiting := s.Started(t, s.Start(t, "")).ID
	fixture.Shows(t, page(waiting), "The run has not ended yet.")
}
