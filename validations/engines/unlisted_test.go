package engines_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// What a report does not list is counted without a message.
func TestUnlistedFindingsHaveNoMessage(t *testing.T) { //nolint:paralleltest // It counts all allocations.
	const (
		items = 20_000
		rule  = `{"rules":[{"id":"a","path":`
		table = `{"schema":{"fields":[{"name":"a","type":"string"},{"name":"b","type":"string","constraints":`
	)
	list := `["b"` + strings.Repeat(`,"b"`, items-1) + `]`
	rows := "a,b\n" + strings.Repeat("a,b\n", items)
	systems := strings.Repeat("HVACTemplate:Zone:IdealLoadsAirSystem,b;\n", items)
	//nolint:paralleltest // As above.
	for name, tt := range map[string]struct {
		kind, holds, fails, mediaType, document string
	}{
		"Rules": {
			engines.KindRules, rule + `"/*","operator":"eq","value":"b"}]}`,
			rule + `"/*","operator":"eq","value":"c"}]}`, "application/json", list,
		},
		"RulesThatDoNotFit": {
			engines.KindRules, rule + `"/*","operator":"eq","value":"b"}]}`,
			rule + `"/*","operator":"lt","value":5}]}`, "application/json", list,
		},
		"RulesOnElements": {
			engines.KindRules, rule + `"","operator":"all","value":{"operator":"eq","value":"b"}}]}`,
			rule + `"","operator":"all","value":{"operator":"eq","value":"c"}}]}`, "application/json", list,
		},
		"Table": {
			engines.KindTable, table + `{"enum":["b"],"minLength":1}}]}}`,
			table + `{"enum":["c"],"minLength":2}}]}}`, "text/csv", rows,
		},
		"TableOfTypes": {
			engines.KindTable, table + `{}}]}}`,
			strings.Replace(table, `"b","type":"string"`, `"b","type":"number"`, 1) + `{}}]}}`, "text/csv", rows,
		},
		"TableOfDuplicates": {engines.KindTable, table + `{}}]}}`, table + `{"unique":true}}]}}`, "text/csv", rows},
		"EnergyPlus": {
			engines.KindEnergyPlus, `{"checks":{"references":"OFF"}}`, `{}`, "text/plain",
			"Version,9.6;\nZone,a;\n" + systems,
		},
	} {
		t.Run(name, func(t *testing.T) {
			few := allocations(t, tt.kind, tt.holds, tt.mediaType, tt.document)
			many := allocations(t, tt.kind, tt.fails, tt.mediaType, tt.document)
			if many > few+items*3/2 {
				t.Errorf("%d allocations for %d findings", many-few, items)
			}
		})
	}
}

// allocations counts those of the check of a document.
func allocations(tb testing.TB, kind, config, mediaType, document string) uint64 {
	tb.Helper()
	engine, faults := engines.Compile(kind, []byte(config), engines.DefaultLimits())
	if len(faults) > 0 {
		tb.Fatal(faults)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := engine.Run(tb.Context(), engines.NewDocument([]byte(document), mediaType, "f"))
	runtime.ReadMemStats(&after)
	if err != nil {
		tb.Fatal(err)
	}
	return after.Mallocs - before.Mallocs
}
