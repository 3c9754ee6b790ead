package energyplus_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/enginetest"
)

// brief is what most tests want to know of a finding.
type brief struct {
	Code    string
	Path    string
	Line    int
	Column  int
	Row     int
	Message string
}

// The helpers of all engines, by short names.
var (
	same    = enginetest.Same
	briefs  = enginetest.Briefs[brief]
	sample  = enginetest.Sample
	compile = enginetest.Compile
	refused = enginetest.Refused
)

// expectFinding wants one finding of a model with these objects, wherever it stands in a line.
func expectFinding(tb testing.TB, engine engines.Engine, objects, code, severity, path, message string) {
	tb.Helper()
	report := checkModel(tb, engine, complete(objects), "m.idf")
	if len(report.Findings) != 1 {
		tb.Fatalf("findings = %+v, want one", report.Findings)
	}
	f := report.Findings[0]
	same(tb, []string{code, severity, "/" + path, message}, []string{f.Code, string(f.Severity), f.Path, f.Message})
}
