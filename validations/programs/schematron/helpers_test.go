package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"

	schematron "github.com/simplevalidations/simplevalidations/validations/programs/schematron"
)

// brief is what most tests want to know of a finding.
type brief struct {
	Code    string
	Path    string
	Line    int
	Column  int
	Message string
}

// text reads a sample.
func text(tb testing.TB, name string) string {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "samples", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
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

// compile compiles a configuration that must have no faults.
func compile(tb testing.TB, config string) *schematron.Checker {
	tb.Helper()
	checker, faults := schematron.Compile(json.RawMessage(config))
	if len(faults) > 0 {
		tb.Fatalf("faults = %+v", faults)
	}
	return checker
}

// refused returns the first fault of a configuration that must have one.
func refused(tb testing.TB, config string) port.Fault {
	tb.Helper()
	faults, _ := schematron.Program{}.Configure(json.RawMessage(config))
	if len(faults) == 0 {
		tb.Fatalf("no faults, want a refusal of %.200s", config)
	}
	return faults[0]
}

// attempt checks a document.
func attempt(checker *schematron.Checker, document string) (port.Report, error) {
	limits := port.Limits{Findings: 1000, PerCheck: 100, Excerpt: 200}
	request := port.Request{Size: int64(len(document)), Limits: limits}
	return checker.Check(request, bytes.NewReader([]byte(document)))
}

// run checks a document on which there must be a verdict.
func run(tb testing.TB, checker *schematron.Checker, document string) port.Report {
	tb.Helper()
	report, err := attempt(checker, document)
	if err != nil {
		tb.Fatalf("check: %v", err)
	}
	return report
}

func briefs(report port.Report) []brief {
	found := []brief{}
	for _, f := range report.Findings {
		found = append(found, brief{f.Code, f.Path, f.Line, f.Column, f.Message})
	}
	return found
}

// check returns what a schema finds in a document.
func check(tb testing.TB, schema, document string) []brief {
	tb.Helper()
	return briefs(run(tb, compile(tb, step(tb, schema, "")), document))
}

// same compares what a test wants with what it got.
func same(tb testing.TB, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("difference (-want +got):\n%s", diff)
	}
}
