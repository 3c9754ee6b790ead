package table_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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

// TestPatternsMayNotTryForEver has a pattern whose tries double with each character: there is no verdict.
func TestPatternsMayNotTryForEver(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxPatternTime = time.Millisecond
	engine := compileWithin(t, engines.KindTable, oneColumn("string", `"pattern": "(?=(a|aa)+$)a+"`), limits)
	document := "n,v\n1,aaa\n1," + strings.Repeat("a", 60) + "!\n"
	report, err := engine.Run(t.Context(), engines.NewDocument([]byte(document), "text/csv", "f"))
	if _, ok := errors.AsType[*engines.ExhaustedError](err); !ok {
		t.Errorf("run ends with %v and %+v, want an error and no verdict", err, report)
	}
}
