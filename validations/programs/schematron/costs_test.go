package main_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"

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
		if used := rss(t, config, "<r>"+strings.Repeat(text, size/len(text))+"</r>", allowed); used > allowed {
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

// rss is the most memory that the program had in the check of a document, in bytes, where it may use so much.
func rss(tb testing.TB, config, document string, allowed int64) int64 {
	tb.Helper()
	request := port.Request{
		Version: port.Version, Task: port.TaskCheck, Config: json.RawMessage(config), Size: int64(len(document)),
		Limits: port.Limits{Findings: 1000, PerCheck: 100, Excerpt: 200},
	}
	first, err := json.Marshal(request)
	if err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), built)
	command.Env = []string{"GOMAXPROCS=1", fmt.Sprintf("GOMEMLIMIT=%d", allowed*8/10)}
	command.Stdin = strings.NewReader(string(first) + "\n" + document)
	if output, err := command.CombinedOutput(); err != nil {
		tb.Fatalf("check: %v\n%.500s", err, output)
	}
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		tb.Fatal("the memory of the process is not known")
	}
	return usage.Maxrss << 10
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
