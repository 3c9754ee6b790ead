package engines_test

import (
	"encoding/json"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestSampleTables(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, string(sample(t, "schemas/meter-readings.table-step.json")))

	t.Run("GoodHasNoFindings", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "good/meter-readings.csv"), "text/csv")
		same(t, []brief{}, briefs(report))
	})

	t.Run("WarnPassesWithOneWarning", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "warn/meter-readings.csv"), "text/csv")
		message := "5 of 24 reads are estimated (20.8 %), at most 10 % are allowed"
		same(t, []brief{{Code: "rule.estimated_share", Message: message}}, briefs(report))
		same(t, engines.SeverityWarning, report.Findings[0].Severity)
		same(t, "estimated_share", report.Findings[0].AssertionID)
		same(t, []int{4, 8, 9, 15, 21}, report.Findings[0].SampleRows)
		if report.Errors != 0 || report.Warnings != 1 || report.Truncated {
			t.Errorf("errors = %d, warnings = %d, truncated = %t, want 0, 1, false",
				report.Errors, report.Warnings, report.Truncated)
		}
	})

	t.Run("BadHasEightErrors", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "bad/meter-readings.csv"), "text/csv")
		same(t, []brief{
			{"csv.type.number", "kwh", 5, 31, 4, `kwh "n/a" is not a number`},
			{"csv.minimum", "kwh", 9, 31, 8, "kwh -12.5 is less than 0"},
			{"csv.pattern", "meter_id", 12, 1, 11, `meter_id "MTR-77" does not match ^MTR-[0-9]{4}$`},
			{"csv.enum", "quality", 14, 37, 13, `quality "X" is not one of A, E, M`},
			{"csv.primary_key", "meter_id", 17, 1, 16, "duplicate of line 16 (meter_id, read_at)"},
			{"csv.type.datetime", "read_at", 20, 10, 19, `read_at "2026-02-30T06:00:00Z" is not a valid date-time`},
			{"csv.row.field_count", "", 22, 1, 21, "row has 4 fields, header has 5"},
			{
				"rule.missing_is_zero", "kwh", 24, 31, 23,
				"a missing reading (quality M) must carry 0 kWh, found 3.2",
			},
		}, briefs(report))
		same(t, "MTR-1001,2026-03-01T03:00:00Z,n/a,A,night", report.Findings[0].Excerpt)
		same(t, "missing_is_zero", report.Findings[7].AssertionID)
		if report.Errors != 8 || report.Warnings != 0 {
			t.Errorf("errors = %d, warnings = %d, want 8, 0", report.Errors, report.Warnings)
		}
	})
}

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

func TestSampleBuildingRules(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindRules, string(sample(t, "schemas/building.rules-step.json")))

	t.Run("GoodHasNoFindings", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "good/building.json"), "application/json")
		same(t, []brief{}, briefs(report))
	})

	t.Run("BadHasOneErrorAndOneRuleWithoutVerdict", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "bad/building.json"), "application/json")
		same(t, []brief{
			{"rule.heating_below_cooling", "/building/zones/0/setpoint_c", 8, 71, 0, "27 is not below 26"},
			{
				"rule.zone_areas", "/building", 2, 15, 0,
				"not evaluated: needs /building/floor_area_m2, which is missing",
			},
		}, briefs(report))
		same(t, "heating_below_cooling", report.Findings[0].AssertionID)
		same(t, 2, report.Errors)
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
