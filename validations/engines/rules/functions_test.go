package rules_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

var (
	documentInPage = regexp.MustCompile("(?s)```json\n(.*?)```")
	codeSpan       = regexp.MustCompile("`([^`]+)`")
)

// readExpressions returns the document of the page on expressions, and for each row of its tables the cells.
func readExpressions(tb testing.TB) (string, [][]string) {
	tb.Helper()
	content, err := os.ReadFile("../../../docs/guides/validators/expressions.md")
	if err != nil {
		tb.Fatalf("read page: %v", err)
	}
	rows := [][]string{}
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		line = strings.NewReplacer(`\|`, "\x00", `\<`, "<").Replace(line)
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		rows = append(rows, cells)
	}
	return documentInPage.FindStringSubmatch(string(content))[1], rows
}

func assertion(tb testing.TB, assert string) string {
	tb.Helper()
	step, err := json.Marshal(map[string]any{"rules": []any{map[string]any{"id": "r", "assert": assert}}})
	if err != nil {
		tb.Fatalf("write step: %v", err)
	}
	return string(step)
}

// TestExamplesOfExpressions evaluates each example of the page.
func TestExamplesOfExpressions(t *testing.T) {
	t.Parallel()
	document, rows := readExpressions(t)
	examples := 0
	for _, cells := range rows {
		if len(cells) != 3 {
			continue
		}
		examples++
		example := codeSpan.FindStringSubmatch(cells[2])[1]
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindRules, assertion(t, example))
			same(t, []brief{}, briefs(run(t, engine, []byte(document), "application/json")))
		})
	}
	if examples < 50 {
		t.Errorf("%d examples, want one for each function", examples)
	}
}

// TestMistakesOfExpressions compares the answers on the page with those that are given.
func TestMistakesOfExpressions(t *testing.T) {
	t.Parallel()
	_, rows := readExpressions(t)
	mistakes := 0
	for _, cells := range rows {
		if len(cells) == 2 {
			mistakes++
			written := codeSpan.FindStringSubmatch(cells[0])[1]
			same(t, cells[1], refused(t, engines.KindRules, assertion(t, written)).Detail)
		}
	}
	if mistakes == 0 {
		t.Error("no mistakes on the page")
	}
}

// TestOrdinaryExpressionsAreWithinTheCost saves rules as buildings need them.
func TestOrdinaryExpressionsAreWithinTheCost(t *testing.T) {
	t.Parallel()
	for _, assert := range []string{
		"size(value) < 2 || lists.range(size(value) - 1).all(i, value[i] <= value[i + 1])",
		"value.all(z, z.id.split('-')[0].trim().lowerAscii().replace('a', 'b').substring(0, size(z.id) - 2) == 'x')",
		"value.all(z, '%s-%s'.format([z.id, z.name]).split('-').join(',') != 'x')",
		"value.all(z, z.tags.distinct().sort() == z.tags.slice(0, size(z.tags)))",
		"value.all(z, percentile(z.readings.map(r, math.round(r.value)), 95) < avg(z.readings.map(r, r.value)))",
		"value.all(z, doc.zones.exists(o, sets.intersects(o.tags, z.tags)))",
		"value.all(z, doc.storeys.exists(s, s.id.lowerAscii() == z.storey.trim().lowerAscii()))",
		"value.sortBy(z, z.area).map(z, z.id).join('').reverse().indexOf('abc') > 1",
		"doc.a.split(',').all(p, p.split(';').all(q, q.matches('^[a-z]+$') && q.trim().size() < 10))",
		"value.all(z, timestamp(z.from) < timestamp(z.to) && z.from.getFullYear() == 2026)",
		"lists.range(int(doc.count)).all(i, lists.range(i).all(j, value[i] != value[j]))",
		"value.all(z, z.tags.hasOnly(doc.tags) && doc.tags.hasAll(z.tags) && size(z.tags) == size(z.tags.distinct()))",
	} {
		t.Run(assert, func(t *testing.T) {
			t.Parallel()
			compile(t, engines.KindRules, assertion(t, assert))
		})
	}
}

func TestFunctionsOnUnusualValues(t *testing.T) {
	t.Parallel()
	const document = `{"n": [3, 1, 2], "texts": ["b", "a"],
		"mixed": [1, "1", 1.0, null, true, null, [1], [1.0], {"a": 1}],
		"at": "2026-03-01T23:30:00-05:00", "day": "2026-03-01 06:00:00.5", "wrong": "01.03.2026", "empty": []}`
	tests := []struct {
		name, assert string
		want         []string
	}{
		{"Distinct", "size(doc.mixed.distinct()) == 6 && doc.n.distinct() == doc.n", nil},
		{"DistinctOfAllNumbers", "size([1, 1.0].distinct()) == 1", nil},
		{"DistinctOfLargeNumbers", "size([9007199254740993, 9007199254740992].distinct()) == 2", nil},
		{"PercentileOfOne", "percentile([7], 0) == 7.0 && percentile([7], 100) == 7.0", nil},
		{"PercentileBetween", "percentile(doc.n, 25) == 1.5 && percentile([1, 2], 50.0) == 1.5", nil},
		{"PercentileOfNone", "percentile(doc.empty, 50) > 0", []string{"not evaluated: a list is empty"}},
		{"PercentileBeyond", "percentile(doc.n, 101) > 0", []string{
			"not evaluated: a percentile is a number from 0 to 100",
		}},
		{"AverageOfNone", "avg(doc.empty) > 0", []string{"not evaluated: a list is empty"}},
		{"AverageOfTexts", "avg(doc.texts) > 0", []string{
			"not evaluated: a list holds something that is not a number",
		}},
		{"SortOfMixed", "doc.mixed.sort() == []", []string{
			"not evaluated: list elements must have the same type",
		}},
		{"PartsOfTimesAreInUTC", "doc.at.getDate() == 2 && doc.at.getHours() == 4", nil},
		{"PartsInTheirZone", "doc.at.getDate('-05:00') == 1 && doc.at.getHours('America/New_York') == 23", nil},
		{"SpaceInATime", "doc.day.getMilliseconds() == 500 && timestamp(doc.day) > timestamp('2026-03-01')", nil},
		{"NoTime", "doc.wrong.getMonth() == 2", []string{
			`not evaluated: "01.03.2026" is neither a date nor a date-time such as 2026-03-01T06:00:00Z`,
		}},
		{"NoTimestamp", "timestamp(doc.wrong) > timestamp('2026-03-01')", []string{
			`not evaluated: "01.03.2026" is neither a date nor a date-time such as 2026-03-01T06:00:00Z`,
		}},
		{"NoZone", "doc.at.getHours('Mars') == 1", []string{"not evaluated: unknown time zone Mars"}},
		{"NoElement", "doc.n[7] == 1", []string{"not evaluated: index out of bounds: 7"}},
		{"LastElement", "doc.n[-1] == doc.n[size(doc.n) - 1] && doc.texts[-1:] == [doc.texts[-1]]", nil},
		{"Length", "doc.texts.length == 2 && doc.texts[0].length == 1", nil},
		{"Count", "doc.texts.count == 2", []string{
			"not evaluated: needs /texts/count, which is missing; use size(x) for the length of a list or a text",
		}},
		{"OptionalLength", "doc.?texts[?9].length.orValue(7) == 7 && doc.?box.length.hasValue() == false", nil},
		{"NoLength", "doc.texts[0].length == doc.none.length", []string{
			"not evaluated: needs /none, which is missing",
		}},
		{"WholeNumber", "doc.n.all(n, n / 2 > 0 && n % 2 < 2)", nil},
		{"NoNumber", "double(doc.texts[0]) > 1", []string{
			"not evaluated: type conversion error from 'string' to 'double'",
		}},
		{"ByZero", "1 / size(doc.empty) == 1", []string{"not evaluated: division by zero"}},
		{"LoopOverANumber", "doc.n[0].all(i, i > 1)", []string{
			"not evaluated: got 'types.Double', expected iterable type",
		}},
		{"Substring", "doc.texts[0].substring(1, 9) == ''", []string{"not evaluated: index out of range: 9"}},
		{"JoinOfNumbers", "doc.n.join(',') == ''", []string{
			"not evaluated: it does not fit the types of the values, or a value is missing",
		}},
		{"Slice", "doc.n.slice(1, 9) == []", []string{"not evaluated: cannot slice(1, 9), list is length 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindRules, assertion(t, tt.assert))
			got := []string(nil)
			for _, f := range run(t, engine, []byte(document), "application/json").Findings {
				got = append(got, f.Message)
			}
			same(t, tt.want, got)
		})
	}
}
