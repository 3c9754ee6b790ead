package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"

	program "github.com/simplevalidations/simplevalidations/validations/programs/ids"
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
func step(tb testing.TB, ids string) string {
	tb.Helper()
	config, err := json.Marshal(map[string]string{"ids": ids})
	if err != nil {
		tb.Fatal(err)
	}
	return string(config)
}

// compile compiles a configuration that must have no faults.
func compile(tb testing.TB, config string) *program.Checker {
	tb.Helper()
	checker, faults := program.Compile(json.RawMessage(config))
	if len(faults) > 0 {
		tb.Fatalf("faults = %+v", faults)
	}
	return checker
}

// attempt checks a model.
func attempt(checker *program.Checker, model string) (port.Report, error) {
	limits := port.Limits{Findings: 1000, PerCheck: 100, Excerpt: 200}
	return checker.Check(port.Request{Size: int64(len(model)), Limits: limits}, strings.NewReader(model))
}

// run checks a model on which there must be a verdict.
func run(tb testing.TB, checker *program.Checker, model string) port.Report {
	tb.Helper()
	report, err := attempt(checker, model)
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

// same compares what a test wants with what it got.
func same(tb testing.TB, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("difference (-want +got):\n%s", diff)
	}
}

// idsOf is a text with specifications.
func idsOf(specifications string) string {
	return `<ids xmlns="http://standards.buildingsmart.org/IDS" xmlns:xs="http://www.w3.org/2001/XMLSchema">` +
		`<info><title>T</title></info><specifications>` + short(specifications) + `</specifications></ids>`
}

// specOf is a text with one specification for objects of IFC4, at least one of which is required.
func specOf(applicability, requirements string) string {
	return idsOf(`<specification name="S" ifcVersion="IFC4"><applicability maxOccurs="unbounded">` + applicability +
		`</applicability><requirements>` + requirements + `</requirements></specification>`)
}

// short writes out what tests abbreviate: ” around single values, and {} around restrictions of texts.
func short(text string) string {
	return strings.NewReplacer(
		"«", "<simpleValue>", "»", "</simpleValue>",
		"{{", `<xs:restriction base="xs:string">`, "}}", "</xs:restriction>",
		"[[", `<xs:restriction base="xs:double">`, "]]", "</xs:restriction>",
	).Replace(text)
}

// entity is a facet for a class.
func entity(name string) string {
	return "<entity><name>«" + name + "»</name></entity>"
}

// modelOf is a file of a schema with these instances, the first of which is in line 8.
func modelOf(schema string, instances ...string) string {
	return "ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\nFILE_NAME('','',(''),(''),'','','');\n" +
		"FILE_SCHEMA(('" + schema + "'));\nENDSEC;\nDATA;\n" + strings.Join(instances, "\n") +
		"\nENDSEC;\nEND-ISO-10303-21;\n"
}

// check returns what a text finds in a model of IFC4 with these instances.
func check(tb testing.TB, ids string, instances ...string) port.Report {
	tb.Helper()
	return run(tb, compile(tb, step(tb, ids)), modelOf("IFC4", instances...))
}

// messages are the findings with their codes.
func messages(report port.Report) []string {
	found := []string{}
	for _, f := range report.Findings {
		found = append(found, f.Code+": "+f.Message)
	}
	return found
}
