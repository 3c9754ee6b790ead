package rules_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

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
