package table

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

const (
	// levelBytes is the approximate memory of one level of a spread.
	levelBytes = 32
	// mantissaBits are those of a number behind its first digit, and fewestBits those that a spread keeps at least, so
	// that no level is more than a thousandth beside its values.
	mantissaBits = 52
	fewestBits   = 10
)

// percentileName is the member of a column that is a percentile, such as p95 or p99_9.
var percentileName = regexp.MustCompile(`^p(\d{1,2}(?:_\d{1,6})?|100)$`)

// percentOf reads the name of a percentile.
func percentOf(name string) (float64, bool) {
	if name == "median" {
		return 50, true //nolint:mnd // the middle
	}
	found := percentileName.FindStringSubmatch(name)
	if found == nil {
		return 0, false
	}
	percent, err := strconv.ParseFloat(strings.Replace(found[1], "_", ".", 1), 64)
	return percent, err == nil
}

// percentile is a member of a column that a dataset rule reads.
type percentile struct {
	name    string
	percent float64
}

// spread counts how often a column has each number. Once its memory is used up, it counts numbers together that differ
// only in their last bits.
type spread struct {
	counts map[float64]int
	total  int
	// dropped is how many bits of the numbers are left out.
	dropped int
	budget  *uniqueness
	// stopped says that even the fewest bits take too much memory.
	stopped bool
}

func (s *spread) add(number float64) {
	if s.stopped {
		return
	}
	level := s.level(number)
	for s.counts[level] == 0 && !s.budget.take(levelBytes) {
		if !s.coarsen() {
			s.stopped, s.counts = true, nil
			return
		}
		level = s.level(number)
	}
	s.counts[level]++
	s.total++
}

// level is a number without the bits that are left out.
func (s *spread) level(number float64) float64 {
	return math.Float64frombits(math.Float64bits(number) >> s.dropped << s.dropped)
}

// coarsen drops one more bit, if it may. That merges levels, or brings others close enough for the next bit.
func (s *spread) coarsen() bool {
	if s.dropped == mantissaBits-fewestBits {
		return false
	}
	s.dropped++
	coarser := make(map[float64]int, len(s.counts))
	for level, count := range s.counts {
		coarser[s.level(level)] += count
	}
	s.budget.left += levelBytes * int64(len(s.counts)-len(coarser))
	s.counts = coarser
	return true
}

// values are percentiles by their names: the numbers below which so many percent are, interpolated between the two
// nearest ones as the function of expressions does.
func (s *spread) values(wanted []percentile, values map[string]any) {
	if s.total == 0 {
		return
	}
	levels := slices.Sorted(maps.Keys(s.counts))
	for _, p := range wanted {
		const whole = 100
		at := p.percent / whole * float64(s.total-1)
		before := int(math.Floor(at))
		below, above := s.ranked(levels, before), s.ranked(levels, min(before+1, s.total-1))
		values[p.name] = below + (at-float64(before))*(above-below)
	}
}

// ranked returns the number that has so many others before it, in ascending order.
func (s *spread) ranked(levels []float64, before int) float64 {
	for _, level := range levels {
		if before -= s.counts[level]; before < 0 {
			return level
		}
	}
	return math.NaN()
}

// percentiles are those of a column that an expression reads. Other members that a column does not have are faults.
func (c *ruleCompiler) percentiles(column *tableschema.Column, e *expression.Expression, at string) []percentile {
	if e == nil {
		return nil
	}
	known := []string{"count", "sum", "min", "max", "mean"}
	if column.Timed() {
		known = []string{"count", "min", "max"}
	}
	var found []percentile
	for _, name := range e.ReadsBelow("columns", column.Name).Names {
		percent, ok := percentOf(name)
		switch {
		case slices.Contains(known, name):
		case ok && column.Numeric():
			found = append(found, percentile{name, percent})
		default:
			c.Fault(at, noAggregate(name, known, column))
		}
	}
	return found
}

// noAggregate suggests what rules can read of a column instead.
func noAggregate(name string, known []string, of *tableschema.Column) string {
	words := "columns." + of.Name + " has no " + engine.Quote(name)
	if of.Numeric() {
		known = append(known, "median")
	}
	if likely := engine.Nearest(name, known); likely != "" {
		return words + engine.DidYouMean(likely)
	}
	words += "; use " + strings.Join(known, ", ")
	if of.Numeric() {
		words += ", or p95 and others for percentiles"
	}
	return words
}
