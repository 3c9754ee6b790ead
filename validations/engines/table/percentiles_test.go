package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// message returns the message of the first finding, that of a rule which does not hold.
func message(tb testing.TB, report engines.Report) string {
	tb.Helper()
	if len(report.Findings) != 1 {
		tb.Fatalf("findings = %+v, want one", report.Findings)
	}
	return report.Findings[0].Message
}

// datasetRule is a step with one rule on the columns g and x, which never holds.
func datasetRule(of, message string) string {
	return `{"schema": {"fields": [{"name": "g", "type": "string"}, {"name": "x", "type": "` + of + `"}]},
		"dataset_rules": [{"id": "r", "assert": "false", "message": "` + message + `"}]}`
}

// rows is a table of the columns g and x.
func rows(numbers []float64) []byte {
	var b strings.Builder
	b.WriteString("g,x\n")
	for _, number := range numbers {
		b.WriteString("a," + strconv.FormatFloat(number, 'g', -1, 64) + "\n")
	}
	return []byte(b.String())
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	const all = "{columns.x.p0} {columns.x.p25} {columns.x.median} {columns.x.p95} " +
		"{columns['x']['p99_9']} {columns.x.p100}"
	for name, tt := range map[string]struct{ of, table, want string }{
		// The numbers are those of PERCENTILE.INC of spreadsheets.
		"Numbers":  {"number", "g,x\na,15\na,20\na,35\na,40\na,50\n", "15 20 35 48 49.96000000000001 50"},
		"Integers": {"integer", "g,x\na,3\na,1\na,2\na,4\n", "1 1.75 2.5 3.8499999999999996 3.9970000000000003 4"},
		"One":      {"number", "g,x\na,7.5\n", "7.5 7.5 7.5 7.5 7.5 7.5"},
		"Signs": {
			"number", "g,x\na,-1e6\na,-2\na,-0\na,0\na,1\n",
			"-1000000 -2 0 0.7999999999999998 0.9960000000000004 1",
		},
		"Missing": {"number", "g,x\na,1\na,\na,3\n", "1 1.5 2 2.9 2.998 3"},
		"Equal":   {"number", "g,x\n" + strings.Repeat("a,0.1\n", 1000), "0.1 0.1 0.1 0.1 0.1 0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, datasetRule(tt.of, all))
			same(t, tt.want, message(t, run(t, engine, []byte(tt.table), "text/csv")))
		})
	}
	t.Run("Groups", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{
			"schema": {"fields": [{"name": "g"}, {"name": "x", "type": "number"}]},
			"dataset_rules": [{"id": "r", "group": ["g"], "assert": "columns.x.p90 < 5.0", "message": "{group.g}"}]}`)
		report := run(t, engine, []byte("g,x\na,1\nb,9\na,2\nb,1\n"), "text/csv")
		same(t, "b", message(t, report))
	})
	t.Run("WithoutValues", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, datasetRule("number", "{columns.x.p50}"))
		same(t, "?", message(t, run(t, engine, []byte("g,x\na,\n"), "text/csv")))
	})
}

// TestPercentilesInLittleMemory compares the percentiles of many different numbers with those of a sorted list.
func TestPercentilesInLittleMemory(t *testing.T) {
	t.Parallel()
	const count = 20_000
	for name, next := range map[string]func(*rand.Rand) float64{
		"Uniform": (*rand.Rand).Float64, "Normal": (*rand.Rand).NormFloat64,
		"Wide": func(random *rand.Rand) float64 { return math.Exp(3 * random.NormFloat64()) },
	} {
		random := rand.New(rand.NewPCG(1, 2))
		numbers := make([]float64, count)
		for i := range numbers {
			numbers[i] = next(random)
		}
		limits := engines.DefaultLimits()
		limits.MaxUniqueBytes = 1 << 20 // of which half is for 16,384 numbers
		engine := compileWithin(t, engines.KindTable, datasetRule("number", "{columns.x.p5} {columns.x.p95}"), limits)
		words := message(t, run(t, engine, rows(numbers), "text/csv"))
		again := message(t, run(t, engine, rows(numbers), "text/csv"))
		same(t, words, again)
		slices.Sort(numbers)
		for i, word := range strings.Fields(words)[:2] {
			got, err := strconv.ParseFloat(word, 64)
			at := []float64{0.05, 0.95}[i] * (count - 1)
			below := int(at)
			want := numbers[below] + (at-float64(below))*(numbers[below+1]-numbers[below])
			if off := math.Abs(got-want) / math.Abs(want); err != nil || off > 0.001 {
				t.Errorf("%s: percentile = %s, want about %g", name, word, want)
			}
		}
	}
}

func TestPercentilesGiveUpBeforeTheyAreWrong(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxUniqueBytes = 8 << 10
	engine := compileWithin(t, engines.KindTable, datasetRule("number", "{columns.x.p50}"), limits)
	// Neither numbers of all sizes nor those of one size fit into 128 levels with three digits.
	for name, number := range map[string]func(i int) float64{
		"Wide":  func(i int) float64 { return math.Exp(float64(i)) },
		"Dense": func(i int) float64 { return 1 + float64(i)/400 },
	} {
		var numbers []float64
		for i := range 400 {
			numbers = append(numbers, number(i))
		}
		got := message(t, run(t, engine, rows(numbers), "text/csv"))
		if !strings.HasPrefix(got, "not evaluated: the memory") {
			t.Errorf("%s: message = %s, want that the memory is spent", name, got)
		}
	}

	t.Run("OfGroups", func(t *testing.T) {
		t.Parallel()
		engine := compileWithin(t, engines.KindTable, `{"schema": {"fields": [{"name": "g"},
			{"name": "x", "type": "number"}]}, "dataset_rules": [
			{"id": "r", "group": ["g"], "assert": "columns.x.p50 > 0.0", "severity": "INFO"}]}`, limits)
		var b strings.Builder
		b.WriteString("g,x\n")
		for i := range 300 {
			fmt.Fprintf(&b, "a%d,%g\n", i%3, math.Exp(float64(i)))
		}
		report := run(t, engine, []byte(b.String()), "text/csv")
		if report.Errors == 0 {
			t.Errorf("findings = %+v, want that some group is not evaluated", report.Findings)
		}
	})
}

func TestMistakesInAggregates(t *testing.T) {
	t.Parallel()
	const fields = `"schema": {"fields": [{"name": "x", "type": "number"}, {"name": "on", "type": "date"}]}`
	const others = "; use count, sum, min, max, mean, median, or p95 and others for percentiles"
	for assert, want := range map[string]string{
		"columns.x.maen > 1.0":       `columns.x has no "maen"; did you mean mean?`,
		"columns.x['p101'] > 1.0":    `columns.x has no "p101"` + others,
		"columns.x.p1_ > 1.0":        `columns.x has no "p1_"` + others,
		"columns.on.p50 > 1.0":       `columns.on has no "p50"; use count, min, max`,
		"columns.on.sum > 1.0":       `columns.on has no "sum"; use count, min, max`,
		"has(columns.x.avg) || true": `columns.x has no "avg"` + others,
	} {
		config := `{` + fields + `, "dataset_rules": [{"id": "r", "assert": "` + assert + `"}]}`
		same(t, want, refused(t, engines.KindTable, config).Detail)
	}
}
