package table_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestPatternsOfPublishedSchemas has patterns that RE2 does not have.
func TestPatternsOfPublishedSchemas(t *testing.T) {
	t.Parallel()
	for pattern, values := range map[string]struct{ good, wrong string }{
		`^[a-zA-Z\-'\s\u00C0-\u00FF]+$`:    {"Écully", "Łódź"},
		`^(?=^[^./~])(^((?!\.{2}).)*$).*$`: {"media/a.jpg", "../a.jpg"},
		`(?!MTR)[A-Z]{3}`:                  {"ABC", "MTR"},
		`a(?=b)b|c`:                        {"ab", "abc"},
		`[0-9]{2}`:                         {"12", "x12y"},
	} {
		config := oneColumn("string", `"pattern": "`+strings.ReplaceAll(pattern, `\`, `\\`)+`"`)
		engine := compile(t, engines.KindTable, config)
		for want, value := range []string{values.good, values.wrong} {
			report := run(t, engine, []byte("n,v\n1,\""+value+"\"\n"), "text/csv")
			if report.Errors != want {
				t.Errorf("%s on %q: findings = %+v, want %d", pattern, value, report.Findings, want)
			}
		}
	}
	fault := refused(t, engines.KindTable, oneColumn("string", `"pattern": "(?=a"`))
	if !strings.Contains(fault.Detail, "pattern is not a regular expression of RE2") {
		t.Errorf("fault = %+v, want that of the pattern", fault)
	}
}

// TestPatternsMayNotTryForEver has a pattern whose tries double with each character.
func TestPatternsMayNotTryForEver(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxPatternSteps = 10_000
	engine := compileWithin(t, engines.KindTable, oneColumn("string", `"pattern": "(?=(a+)+$)a+"`), limits)
	const costly = "1,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n"
	report := run(t, engine, []byte("n,v\n1,aaa\n"+costly+"1,aaa\n"), "text/csv")
	const want = "v was not evaluated: the pattern costs too much on a text of this length"
	if len(report.Findings) != 1 || report.Findings[0].Message != want || report.Findings[0].Line != 3 {
		t.Errorf("findings = %+v, want that one value takes too much", report.Findings)
	}
	// Such values spend what a table may take, so that a long one behind them is not evaluated.
	long := "1," + strings.Repeat("a", 3000) + "\n"
	report = run(t, engine, []byte("n,v\n"+long+strings.Repeat(costly, 100)+long), "text/csv")
	if report.Errors != 101 || report.Findings[0].Line != 3 {
		t.Errorf("errors = %d, want one for each value but the first", report.Errors)
	}
}
