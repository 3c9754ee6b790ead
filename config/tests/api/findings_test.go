package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
)

// failed is the address of the findings of a run of the bad meter readings.
func (s *stage) failed(tb testing.TB) string {
	tb.Helper()
	start := s.Start(tb, "").WithBody("text/csv", fixture.SampleText(tb, "bad/meter-readings.csv"))
	run := s.Started(tb, start.With("X-Filename", "meter-readings.csv"))
	s.Work(tb)
	return validations.RunAddress(run.ID) + "findings/"
}

func TestListFindings(t *testing.T) {
	t.Parallel()
	s := setup(t)
	address := s.failed(t)
	all := read[api.Page[api.Finding]](t, s, address).Results
	lines := []int{}
	for _, finding := range all {
		lines = append(lines, finding.Line)
	}
	if diff := cmp.Diff([]int{5, 9, 12, 14, 17, 20, 22, 24}, lines); diff != "" {
		t.Fatalf("lines (-want +got):\n%s", diff)
	}
	if first := all[0]; first.Code != "csv.type.number" || first.StepID == "" || first.Column != 31 {
		t.Errorf("first = %+v, want the number in column 31 with its step", first)
	}

	pages := thereAndBack[api.Finding](t, s, s.reading(address+"?page_size=3&format=json"), 3)
	if diff := cmp.Diff(all, pages); diff != "" {
		t.Errorf("page by page (-all +pages):\n%s", diff)
	}
	for _, query := range []string{"?format=yaml", "?page_size=0", "?cursor=x"} {
		s.Refused(t, api.CodeInvalidParameter, s.reading(address+query))
	}
}

func TestFindingsAsReports(t *testing.T) {
	t.Parallel()
	s := setup(t)
	address := s.failed(t)
	for format, want := range map[string]struct{ mediaType, part string }{
		"text":   {"text/plain; charset=utf-8", "meter-readings.csv:5:31   kwh \"n/a\" is not a number"},
		"sarif":  {"application/sarif+json", `"uri": "meter-readings.csv"`},
		"junit":  {"application/xml", `failures="8"`},
		"github": {"text/plain; charset=utf-8", "::error file=meter-readings.csv,line=5,col=31,"},
		"csv":    {"text/csv; charset=utf-8", "csv.type.number"},
	} {
		got := s.Must(t, http.StatusOK, s.reading(address+"?format="+format))
		fixture.WantHeader(t, got, map[string]string{"Content-Type": want.mediaType})
		if !strings.Contains(string(got.Body), want.part) {
			t.Errorf("%s = %s, want %s in it", format, got.Body, want.part)
		}
	}

	t.Run("SayThatFindingsAreGone", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		address := s.failed(t)
		s.Exec(t, `DELETE FROM findings`)
		s.Exec(t, `UPDATE validation_runs SET findings_purged_at = now()`)
		for format, part := range map[string]string{
			"text": "8 errors, 0 warnings in all", "sarif": "found more than it lists", "junit": `failures="1"`,
			"github": "and 8 more",
		} {
			got := s.Must(t, http.StatusOK, s.reading(address+"?format="+format))
			if !strings.Contains(string(got.Body), part) {
				t.Errorf("%s = %s, want %s in it", format, got.Body, part)
			}
		}
	})
}
