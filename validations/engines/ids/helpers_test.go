package ids_test

import (
	"encoding/json"
	"strings"
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
)

// text reads a sample.
func text(tb testing.TB, name string) string {
	tb.Helper()
	return string(enginetest.Sample(tb, name))
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
func check(tb testing.TB, ids string, instances ...string) engines.Report {
	tb.Helper()
	engine := compile(tb, engines.KindIDS, step(tb, ids))
	return run(tb, engine, []byte(modelOf("IFC4", instances...)), "model/step")
}

// messages are the findings with their codes.
func messages(report engines.Report) []string {
	found := []string{}
	for _, f := range report.Findings {
		found = append(found, f.Code+": "+f.Message)
	}
	return found
}
