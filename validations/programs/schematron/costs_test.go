package main_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/port/process"

	schematron "github.com/simplevalidations/simplevalidations/validations/programs/schematron"
)

// The densest documents take less memory than the service gives, which is schematronWeight.
func TestMemory(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	const config = `{"schema":"<schema xmlns='http://purl.oclc.org/dsdl/schematron'><pattern><let name='all' ` +
		`value='//node()'/><rule context='a | text()'><assert test='..'/></rule></pattern></schema>"}`
	for name, text := range map[string]string{"Elements": "<a/>", "Texts": "a<!---->"} {
		allowed := int64(96 * size)
		document := "<r>" + strings.Repeat(text, size/len(text)) + "</r>"
		if used := process.PeakMemory(t, config, document, allowed); used > allowed {
			t.Errorf("%s: used %d bytes for a document of %d, want at most %d", name, used, size, allowed)
		}
	}
}

// What a report does not list is counted without a message.
func TestUnlistedFindingsHaveNoMessage(t *testing.T) { //nolint:paralleltest // It counts all allocations.
	const items = 20_000
	config := func(test string) string {
		return step(t, schemaOf(`<pattern><rule context="a[a]"><assert test="`+test+`"/></rule></pattern>`), "")
	}
	document := "<r>" + strings.Repeat("<a><a/></a>", items) + "</r>"
	few, many := allocations(t, config("'a'"), document), allocations(t, config("b"), document)
	if many > few+items*3/2 {
		t.Errorf("%d allocations for %d findings", many-few, items)
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	_, got := schematron.Program{}.Configure(json.RawMessage(step(t, schemaOf(
		`<pattern><rule context='a'><assert id='b' test='c'>No <name/></assert>`+
			`<report test='d' role='info'/></rule></pattern>`), "")))
	same(t, []port.Promise{
		{Words: "the document is well-formed XML"},
		{Subject: "b", Expression: "a: c", Otherwise: "No {name()}", Severity: "ERROR"},
		{Expression: "a: not(d)", Severity: "INFO"},
	}, got)
}

// allocations counts those of the check of a document.
func allocations(tb testing.TB, config, document string) uint64 {
	tb.Helper()
	checker := compile(tb, config)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(tb, checker, document)
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
