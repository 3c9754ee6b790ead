package energyplus

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// FuzzEnergyPlus checks whatever comes in either form.
func FuzzEnergyPlus(f *testing.F) {
	f.Add("Zone,A;Zone,a;Lights,L,A,S;Construction,C,M,N;", false)
	f.Add(`{"Zone": {"A": {}, "a": {}}, "ZoneList": {"L": {"zones": [{"zone_name": "B"}]}}}`, true)
	f.Add("Version,9.3;Wall:Detailed,W,C,Z,,,,,,3,0,0,0,1,0,0,1,1,0;", false)
	f.Add("Version,8.9;Schedule:Compact,S,,Through: 12/31,For: AllDays,Until: 24:00,1;", false)
	f.Add(`{"Version": {"": {"version_identifier": "25.2"}}, "Branch": {"B": {"components": [{}, {"x": []}]}}}`, true)
	config := Config{Rules: []expression.RuleConfig{{ID: "a", Assert: "counts.Zone > 1"}}}
	e, faults := Compile(config, engine.DefaultLimits())
	if len(faults) > 0 {
		f.Fatalf("compile: %+v", faults)
	}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		name := "m.idf"
		if isJSON {
			name = "m.epJSON"
		}
		report, err := e.Run(t.Context(), engine.NewDocument([]byte(text), "", name))
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		for _, finding := range report.Findings {
			if finding.Code == "" || finding.Message == "" {
				t.Errorf("finding = %+v, want a code and a message", finding)
			}
		}
	})
}
