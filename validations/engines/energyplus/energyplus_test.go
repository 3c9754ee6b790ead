package energyplus_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// checkModel checks a model by the file name that tells its form.
func checkModel(tb testing.TB, engine engines.Engine, content, filename string) engines.Report {
	tb.Helper()
	doc := engines.NewDocument([]byte(content), "application/octet-stream", filename)
	report, err := engine.Run(tb.Context(), doc)
	if err != nil {
		tb.Fatalf("run: %v", err)
	}
	return report
}

// complete adds to objects what every model needs.
func complete(objects string) string {
	return objects + "\nVersion,23.2; Timestep,4; SimulationControl; Building,B; GlobalGeometryRules," +
		"UpperLeftCorner,Counterclockwise,World;"
}

// completeJSON adds to classes what every model needs.
func completeJSON(classes string) string {
	return `{"Version": {"Version 1": {"version_identifier": "23.2"}}, "Building": {"B": {}},
"GlobalGeometryRules": {"GlobalGeometryRules 1": {"coordinate_system": "World",
"starting_vertex_position": "UpperLeftCorner", "vertex_entry_direction": "Counterclockwise"}},
` + classes + "}"
}

func TestSampleModels(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, string(sample(t, "schemas/office.energyplus-step.json")))

	t.Run("GoodHasNoFindings", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, string(sample(t, "good/office.idf")), "office.idf")
		same(t, []brief{}, briefs(report))
	})

	t.Run("GoodEpJSONHasOneWarning", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, string(sample(t, "good/office.epJSON")), "office.epJSON")
		same(t, []brief{{Code: "rule.lit", Message: "1 zones have 0 lights"}}, briefs(report))
		same(t, 0, report.Errors)
		same(t, "lit", report.Findings[0].AssertionID)
	})

	t.Run("BadIDF", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, string(sample(t, "bad/office.idf")), "office.idf")
		same(t, []brief{
			{
				"energyplus.version_unsupported", "/Version/version_identifier", 2, 10, 0,
				"the version 24.1 is not one of 22.1, 22.2, 23.1, 23.2",
			},
			{"energyplus.field_range", "/Timestep/number_of_timesteps_per_hour", 4, 11, 0, "100 is more than 60"},
			{
				"energyplus.field_choice", "/Building/Harbour House/terrain", 16, 3, 0,
				`"Town" is not one of City, Country, Ocean, Suburbs, Urban`,
			},
			{
				"energyplus.field_missing", "/Material:NoMass/BRICK/thermal_resistance", 31, 1, 0,
				"Material:NoMass needs thermal_resistance",
			},
			{
				"energyplus.duplicate_name", "/Material:NoMass/BRICK", 31, 1, 0,
				`the name "BRICK" is already used by another Material in line 23`,
			},
			{
				"energyplus.unknown_material", "/Construction/Wall/layer_2", 38, 3, 0,
				`there is no material "Insulation"`,
			},
			{"energyplus.zone_without_surfaces", "/Zone/Store", 41, 1, 0, `no surface belongs to the zone "Store"`},
			{
				"energyplus.unknown_construction", "/Roof/Roof/construction_name", 46, 13, 0,
				`there is no construction "Wal"; did you mean Wall?`,
			},
			{
				"energyplus.unknown_class", "/ScheduleTypLimits", 48, 1, 0,
				`EnergyPlus 24.1 has no class "ScheduleTypLimits"; did you mean ScheduleTypeLimits?`,
			},
			{
				"energyplus.unknown_zone", "/Lights/Office Lights/zone_or_zonelist_or_space_or_spacelist_name",
				59, 3, 0,
				`there is no zone "Ofice"; did you mean Office?`,
			},
			{
				"energyplus.unknown_schedule", "/Lights/Office Lights/schedule_name", 60, 3, 0,
				`there is no schedule "Night"`,
			},
			{Code: "rule.lit", Message: "2 zones have 1 lights"},
		}, briefs(report))
		same(t, "  Ofice,                   !- Zone or ZoneList or Space or SpaceList Name", report.Findings[9].Excerpt)
		same(t, 11, report.Errors)
	})

	t.Run("BadEpJSON", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, string(sample(t, "bad/office.epJSON")), "office.epJSON")
		same(t, []brief{
			{
				"energyplus.field_choice", "/Building/Harbour House/terrain", 15, 18, 0,
				`"Town" is not one of City, Country, Ocean, Suburbs, Urban`,
			},
			{
				"energyplus.field_range", "/Material/Brick/thickness", 28, 20, 0, "-0.24 is not more than 0 m",
			},
			{
				"energyplus.unknown_material", "/Construction/Wall/layer_2", 37, 18, 0,
				`there is no material "Insulation"`,
			},
			{"energyplus.zone_without_surfaces", "/Zone/Store", 42, 14, 0, `no surface belongs to the zone "Store"`},
			{
				"energyplus.unknown_field", "/Wall:Exterior/South Wall/azimut_angle", 48, 23, 0,
				`Wall:Exterior has no field "azimut_angle"; did you mean azimuth_angle?`,
			},
			{
				"energyplus.unknown_zone", "/ZoneList/All/zones/1/zone_name", 60, 24, 0,
				`there is no zone "Sotre"; did you mean Store?`,
			},
			{Code: "rule.lit", Message: "2 zones have 0 lights"},
		}, briefs(report))
	})
}

func TestModelConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ config, pointer, code string }{
		{`{"version": "1"}`, "/version", "config.unknown"},
		{`{"versions": ["23"]}`, "/versions/0", "versions.invalid"},
		{`{"checks": {"zones": "OFF"}}`, "/checks/zones", "checks.unknown"},
		{`{"checks": {"references": "LOUD"}}`, "/checks/references", "checks.severity"},
		{`{"required_objects": [[]]}`, "/required_objects/0", "required_objects.invalid"},
		{`{"rules": [{"id": "a", "assert": "zones > 1"}]}`, "/rules/0/assert", "rule.invalid"},
		{`{"rules": [{"id": "a", "assert": "objects"}]}`, "/rules/0/assert", "rule.invalid"},
		{`{"rules": [{"id": "a", "assert": "true"}, {"id": "a", "assert": "true"}]}`, "/rules/1/id", "rule.invalid"},
	}
	for _, tt := range tests {
		fault := refused(t, engines.KindEnergyPlus, tt.config)
		same(t, []string{tt.pointer, tt.code}, []string{fault.Pointer, fault.Code})
	}
	t.Run("TooManyRules", func(t *testing.T) {
		t.Parallel()
		rules := []map[string]string{}
		for i := range 101 {
			rules = append(rules, map[string]string{"id": fmt.Sprintf("r%d", i), "assert": "true"})
		}
		config, err := json.Marshal(map[string]any{"rules": rules})
		if err != nil {
			t.Fatalf("write configuration: %v", err)
		}
		same(t, "rule.too_many", refused(t, engines.KindEnergyPlus, string(config)).Code)
	})
}
