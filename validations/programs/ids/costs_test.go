package main_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/port/process"

	program "github.com/simplevalidations/simplevalidations/validations/programs/ids"
)

// The densest models take less memory than the service gives, which is idsWeight.
func TestMemory(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	config := step(t, idsOf(`<specification name="S" ifcVersion="IFC4"><applicability minOccurs="0" `+
		`maxOccurs="unbounded"><attribute><name>«Tag»</name></attribute></applicability><requirements><partOf>`+
		entity("IFCWALL")+`</partOf></requirements></specification>`))
	for name, row := range map[string]func(i int) string{
		"Walls":    func(i int) string { return fmt.Sprintf("#%d=IFCWALL();", i+1) },
		"WithGaps": func(i int) string { return fmt.Sprintf("#%d=IFCWALL();", 10_000_000-2*i) },
		"Relations": func(i int) string {
			if i < 100 {
				return fmt.Sprintf("#%d=IFCWALL();", i)
			}
			return fmt.Sprintf("#%d=IFCRELAGGREGATES('',$,$,$,#1,(#1%s));", i, strings.Repeat(",#2", 2000))
		},
		"References": func(i int) string { return fmt.Sprintf("#%d=IFCRELAGGREGATES('',$,$,$,#9,(#9));", i+1) },
	} {
		var rows strings.Builder
		for i := 0; rows.Len() < size; i++ {
			rows.WriteString(row(i))
		}
		allowed := int64(64<<20 + 12*size)
		if used := process.PeakMemory(t, config, modelOf("IFC4", rows.String()), allowed); used > allowed {
			t.Errorf("%s: used %d bytes for a model of %d, want at most %d", name, used, size, allowed)
		}
	}
}

// What a report does not list is counted without a message.
func TestUnlistedFindingsHaveNoMessage(t *testing.T) { //nolint:paralleltest // It counts all allocations.
	const items = 20_000
	config := func(value string) string {
		return step(t, specOf(entity("IFCWALL"), `<attribute><name>«GlobalId»</name><value>{{<xs:enumeration value="`+
			value+`"/>}}</value></attribute>`))
	}
	var walls strings.Builder
	for i := range items {
		fmt.Fprintf(&walls, "#%d=IFCWALL('G');", i+1)
	}
	model := modelOf("IFC4", walls.String())
	few, many := allocations(t, config("G"), model), allocations(t, config("H"), model)
	if many > few+items*3/2 {
		t.Errorf("%d allocations for %d findings", many-few, items)
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	_, got := program.Program{}.Configure(json.RawMessage(step(t, idsOf(
		`<specification name="Walls" identifier="W1" ifcVersion="IFC4"><applicability maxOccurs="unbounded">`+
			entity("IFCWALL")+`</applicability><requirements><attribute instructions="Say it." `+
			`cardinality="optional"><name>«Name»</name><value>«W»</value></attribute></requirements></specification>`+
			`<specification name="Doors" ifcVersion="IFC4"><applicability minOccurs="0" maxOccurs="0">`+
			entity("IFCDOOR")+`</applicability></specification>`))))
	same(t, []port.Promise{
		{Words: "the document is an IFC model as a STEP physical file"},
		{
			Subject: "W1 Walls", Words: `optional for class "IFCWALL": attribute "Name" with the value "W"`,
			Otherwise: "Say it.",
		},
		{Subject: "Doors", Words: `no object in the model: class "IFCDOOR"`},
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
