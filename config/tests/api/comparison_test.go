package api

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestComparison(t *testing.T) {
	t.Parallel()
	s := setup(t)
	checked := func(filename, document string) string {
		t.Helper()
		run := s.Started(t, s.Start(t, "").WithBody("text/csv", document).With("X-Filename", filename))
		s.Exec(t, `UPDATE submissions SET filename = $2 WHERE id = $1`, run.Submission, filename)
		s.Work(t)
		return run.ID
	}
	compare := func(id string) api.Comparison {
		t.Helper()
		return read[api.Comparison](t, s, validations.RunAddress(id)+"comparison/")
	}
	bad := fixture.SampleText(t, "bad/meter-readings.csv")
	first := checked("a.csv", bad)
	if got := compare(first); got.Previous != "" || got.Counts.New != 0 {
		t.Errorf("comparison of the first run = %+v, want none", got)
	}
	checked("b.csv", fixture.SampleText(t, "good/meter-readings.csv"))
	// A row more above all findings, one of them mended, and another one.
	lines := strings.Split(bad, "\n")
	lines[1] += "\nMTR-1001,2026-02-01T00:00:00Z,1,A,night"
	edited := strings.NewReplacer("n/a", "1.5", "-12.5", "-13.5").Replace(strings.Join(lines, "\n"))
	second := checked("a.csv", edited)
	got := compare(second)
	if string(got.Previous) != first || got.Counts.New != 1 || got.Counts.Gone != 2 ||
		got.Counts.Same != 6 || !got.Complete || got.New[0].Line != 10 || got.Gone[0].Line != 5 {
		t.Errorf("comparison = %+v, want 1 new, 2 gone and 6 the same as in %s", got, first)
	}
	// The same content under another name.
	if got := compare(checked("c.csv", bad)); string(got.Previous) != first || got.Counts.Same != 8 {
		t.Errorf("comparison = %+v, want 8 the same as in %s", got, first)
	}
	s.Exec(t, `UPDATE validation_runs SET findings_purged_at = now() WHERE id = $1`, first)
	s.Exec(t, `DELETE FROM findings WHERE run_id = $1`, first)
	if got := compare(second); got.Complete || got.Counts.New != 7 {
		t.Errorf("comparison = %+v, want 7 new and not complete", got)
	}
}
