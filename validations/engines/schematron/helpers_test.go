package schematron_test

import (
	"encoding/json"
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
	same          = enginetest.Same
	run           = enginetest.Run
	briefs        = enginetest.Briefs[brief]
	compile       = enginetest.Compile
	compileWithin = enginetest.CompileWithin
	refused       = enginetest.Refused
)

// text reads a sample.
func text(tb testing.TB, name string) string {
	tb.Helper()
	return string(enginetest.Sample(tb, name))
}

// step is the configuration of a step.
func step(tb testing.TB, schema, phase string) string {
	tb.Helper()
	config, err := json.Marshal(map[string]string{"schema": schema, "phase": phase})
	if err != nil {
		tb.Fatal(err)
	}
	return string(config)
}

// schemaOf is a schema with this content, which begins in its first line.
func schemaOf(content string) string {
	return `<schema xmlns="http://purl.oclc.org/dsdl/schematron">` + content + `</schema>`
}

// check returns what a schema finds in a document.
func check(tb testing.TB, schema, document string) []brief {
	tb.Helper()
	engine := compile(tb, engines.KindSchematron, step(tb, schema, ""))
	return briefs(run(tb, engine, []byte(document), "application/xml"))
}
