package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestSampleBuildings(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, string(sample(t, "schemas/building.schema-step.json")))

	t.Run("GoodHasNoFindings", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "good/building.json"), "application/json")
		same(t, []brief{}, briefs(report))
	})

	t.Run("BadHasSixErrors", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "bad/building.json"), "application/json")
		same(t, []brief{
			{"schema.required", "/building", 2, 15, 0, "missing property 'floor_area_m2'"},
			{
				"schema.additionalProperties", "/building/flor_area_m2", 6, 5, 0,
				"not allowed; did you mean floor_area_m2?",
			},
			{"schema.maximum", "/building/year_built", 5, 19, 0, "2062 is over 2030"},
			{"schema.type", "/building/zones/1/area_m2", 9, 50, 0, "want number, got string"},
			{"schema.required", "/building/zones/2", 10, 7, 0, "missing property 'setpoint_c'"},
			{"schema.maximum", "/building/envelope/u_values/window", 12, 69, 0, "9.9 is over 6"},
		}, briefs(report))
		same(t, `    "flor_area_m2": 1240.5,`, report.Findings[1].Excerpt)
		same(t, 6, report.Errors)
	})
}

func TestSampleConfigurationsHoldTheSchemas(t *testing.T) {
	t.Parallel()
	pairs := map[string]string{
		"schemas/building.schema-step.json":      "schemas/building.schema.json",
		"schemas/meter-readings.table-step.json": "schemas/meter-readings.table-schema.json",
	}
	for step, schema := range pairs {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			var config struct {
				Schema any `json:"schema"`
			}
			var want any
			if err := json.Unmarshal(sample(t, step), &config); err != nil {
				t.Fatalf("read step: %v", err)
			}
			if err := json.Unmarshal(sample(t, schema), &want); err != nil {
				t.Fatalf("read schema: %v", err)
			}
			same(t, want, config.Schema)
		})
	}
}
