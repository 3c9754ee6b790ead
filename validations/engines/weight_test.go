package engines_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// The densest documents of each kind take less memory than their weight: short values, long lists, many members.
func TestWeight(t *testing.T) { //nolint:paralleltest // It measures the memory of the process.
	const size = 512 << 10
	many := func(text func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(text(i))
		}
		return b.String()
	}
	const json, yaml, xml, text = "application/json", "application/yaml", "application/xml", "text/plain"
	list := "[0" + many(func(int) string { return ",0" }) + "]"
	members := `{"a":0` + many(func(i int) string { return fmt.Sprintf(`,"a%d":0`, i) }) + "}"
	objects := "[{}" + many(func(int) string { return `,{"a":1}` }) + "]"
	flow := "{a" + many(func(i int) string { return fmt.Sprintf(",a%d", i) }) + "}"
	lines := many(func(int) string { return "- 1\n" })
	// One alias repeats so many values.
	const repeated = 152
	nest := "&x " + strings.Repeat("{a: ", repeated-2) + "0" + strings.Repeat("}", repeated-2)
	aliases := func(repeats int) string {
		return "x: " + nest + "\ny: [*x" + strings.Repeat(",*x", repeats/repeated) + "]\n"
	}
	elements := "<r>" + many(func(int) string { return "<a/>" }) + "</r>"
	zones := "Version,9.6;\n" + many(func(i int) string { return fmt.Sprintf("Zone,z%d,0,0,0,0,1,1;\n", i) })
	epJSON := `{"Version":{"v":{"version_identifier":"9.6"}},"Zone":{"z":{}` +
		many(func(i int) string { return fmt.Sprintf(`,"z%d":{"x":1}`, i) }) + "}}"
	const schema, rules = `{"schema":{"additionalProperties":false}}`, `{"rules":[{"id":"a","assert":"doc != null"}]}`
	//nolint:paralleltest // As above.
	for name, tt := range map[string]struct{ kind, config, mediaType, document string }{
		"SchemaOfAList":       {engines.KindJSONSchema, schema, json, list},
		"SchemaOfMembers":     {engines.KindJSONSchema, schema, json, members},
		"SchemaOfObjects":     {engines.KindJSONSchema, schema, json, objects},
		"SchemaOfYAML":        {engines.KindJSONSchema, schema, yaml, flow},
		"SchemaOfYAMLLines":   {engines.KindJSONSchema, schema, yaml, lines},
		"SchemaOfFewAliases":  {engines.KindJSONSchema, schema, yaml, aliases(9800)},
		"SchemaOfManyAliases": {engines.KindJSONSchema, schema, yaml, aliases(size/8) + "z: " + flow},
		"FailuresOfAList":     {engines.KindJSONSchema, `{"schema":{"items":{"type":"string"}}}`, json, list},
		"FailuresOfBranches": {
			engines.KindJSONSchema, `{"schema":{"items":{"allOf":[{"type":"string"},{"minimum":4},{"minimum":5}]}}}`,
			json, list,
		},
		"RulesOfMembers": {engines.KindRules, rules, json, members},
		"RulesOfObjects": {engines.KindRules, rules, json, objects},
		"RulesOfYAML":    {engines.KindRules, rules, yaml, flow},
		"RulesOfXML":     {engines.KindRules, rules, xml, elements},
		"XML":            {engines.KindXML, `{}`, xml, elements},
		"EnergyPlus":     {engines.KindEnergyPlus, `{}`, text, zones},
		"EnergyPlusJSON": {engines.KindEnergyPlus, `{}`, json, epJSON},
	} {
		t.Run(name, func(t *testing.T) {
			engine, faults := engines.Compile(tt.kind, []byte(tt.config), engines.DefaultLimits())
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			document := engines.NewDocument([]byte(tt.document), tt.mediaType, "f")
			allowed := engines.Weight(tt.kind, tt.mediaType, document.Size)
			used := leastPeak(uint64(allowed), func() {
				if _, err := engine.Run(t.Context(), document); err != nil {
					t.Errorf("Run: %v", err)
				}
			})
			t.Logf("%.0f bytes for each byte, weighed with %.0f", float64(used)/float64(document.Size),
				float64(allowed)/float64(document.Size))
			if used > uint64(allowed) {
				t.Errorf("used %d bytes for a document of %d, weighed with %d", used, document.Size, allowed)
			}
		})
	}
}

// leastPeak returns the lowest of up to three peaks, or the first within what is allowed: a collector that waits for a
// processor leaves garbage beside what is needed.
func leastPeak(allowed uint64, run func()) uint64 {
	used := peak(run)
	for range 2 {
		if used > allowed {
			used = min(used, peak(run))
		}
	}
	return used
}

// peak returns the most memory that a function held, with little garbage beside it.
func peak(run func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	before := heap()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run()
	}()
	most := before
	for {
		select {
		case <-ended:
			return most - before
		default:
			most = max(most, heap())
			runtime.Gosched()
		}
	}
}

// heap returns how many bytes the objects of the heap take. Unlike runtime.ReadMemStats, it does not stop the world.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
