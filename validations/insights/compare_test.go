package insights

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestCompareFindings(t *testing.T) {
	t.Parallel()
	finding := func(step, path, message string, line int) ComparedFinding {
		return ComparedFinding{
			validations.Finding{Finding: engines.Finding{
				Severity: engines.SeverityError, Path: path, Message: message, Line: line,
			}}, step,
		}
	}
	older := []ComparedFinding{
		finding("a", "kwh", "is no number", 5), finding("a", "kwh", "is no number", 6),
		finding("a", "", "duplicate of row 15", 17), finding("b", "kwh", "is no number", 9),
	}
	newer := []ComparedFinding{
		finding("a", "kwh", "is no number", 50), finding("a", "", "duplicate of row 60", 62),
		finding("a", "kwh", "is too large", 6),
	}
	for _, tt := range []struct {
		name         string
		older, newer []ComparedFinding
		want         string
	}{
		{"Both", older, newer, "2 same, new [6], gone [6 9]"},
		{"Back", newer, older, "2 same, new [6 9], gone [6]"},
		{"Equal", older, older, "4 same, new [], gone []"},
		{"NoneBefore", nil, newer, "0 same, new [50 62 6], gone []"},
		{"NoneAfter", older, nil, "0 same, new [], gone [5 6 17 9]"},
	} {
		got := compareFindings(tt.older, tt.newer)
		lines := func(findings []ComparedFinding) []int {
			numbers := []int{}
			for _, f := range findings {
				numbers = append(numbers, f.Line)
			}
			return numbers
		}
		text := fmt.Sprintf("%d same, new %v, gone %v", got.Same, lines(got.New), lines(got.Gone))
		if diff := cmp.Diff(tt.want, text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
