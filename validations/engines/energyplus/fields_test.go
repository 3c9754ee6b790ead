package energyplus_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// expectOne checks a model with objects and wants one finding.
func expectOne(t *testing.T, engine engines.Engine, content, filename string, want brief) {
	t.Helper()
	same(t, []brief{want}, briefs(checkModel(t, engine, content, filename)))
}

// TestFaultsThatEndASimulation has what a parser that knows no dictionary takes for good.
func TestFaultsThatEndASimulation(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	tests := []struct {
		name, objects string
		want          brief
	}{
		{
			"Class", "Schedul:Constant,AlwaysOn,Any Number,1.0;\nFan:OnOff,F,AlwaysOn,.6,300,Autosize,.8,1,In,Out;",
			brief{
				"energyplus.unknown_class", "/Schedul:Constant", 1, 1, 0,
				`EnergyPlus 23.2 has no class "Schedul:Constant"; did you mean Schedule:Constant?`,
			},
		},
		{
			"TextForNumber", "Zone,Z,abc;",
			brief{
				"energyplus.field_type", "/Zone/Z/direction_of_relative_north", 1, 8, 0,
				`"abc" is not a number; the default is 0.0`,
			},
		},
		{
			"TextForNumberOrWord", "Zone,Z,0,0,0,0,1,1,big;",
			brief{
				"energyplus.field_type", "/Zone/Z/ceiling_height", 1, 20, 0,
				`"big" is not a number or Autocalculate; the default is Autocalculate`,
			},
		},
		{
			"FractionForInteger", "Zone,Z,0,0,0,0,1,1.5;",
			brief{"energyplus.field_type", "/Zone/Z/multiplier", 1, 18, 0, "1.5 is not an integer"},
		},
		{
			"Choice", "Zone,Z,0,0,0,0,1,1,,,,Simpel;",
			brief{
				"energyplus.field_choice", "/Zone/Z/zone_inside_convection_algorithm", 1, 23, 0,
				`"Simpel" is not one of ASTMC1340, AdaptiveConvectionAlgorithm, CeilingDiffuser, Simple, TARP, ` +
					"TrombeWall",
			},
		},
		{
			"ChoiceOfNumbers", "GroundHeatTransfer:Slab:Insulation,0,0,0,0,2;",
			brief{
				"energyplus.field_choice",
				"/GroundHeatTransfer:Slab:Insulation/ivins_flag_is_there_vertical_insulation", 1, 44, 0,
				"2 is not one of 0, 1",
			},
		},
		{
			"ManyChoices", "ZoneHVAC:EquipmentList,L,SequentialLoad,Fan:OnOf,F,1,1;",
			brief{
				"energyplus.field_choice", "/ZoneHVAC:EquipmentList/L/equipment/0/zone_equipment_object_type", 1, 41, 0,
				`"Fan:OnOf" is not one of its 33 choices`,
			},
		},
		{
			"BelowMinimum", "RunPeriod,RP,13,1,,12,31;",
			brief{"energyplus.field_range", "/RunPeriod/RP/begin_month", 1, 14, 0, "13 is more than 12"},
		},
		{
			"AtMinimum", "Material,M,Rough,0,1,1,100;",
			brief{"energyplus.field_range", "/Material/M/thickness", 1, 18, 0, "0 is not more than 0 m"},
		},
		{
			"AtMaximum", "WindowMaterial:SimpleGlazingSystem,W,1,1;",
			brief{
				"energyplus.field_range", "/WindowMaterial:SimpleGlazingSystem/W/solar_heat_gain_coefficient", 1, 40, 0,
				"1 is not less than 1",
			},
		},
		{
			"RequiredField", "Material,M,Rough,0.1,,1,100;",
			brief{"energyplus.field_missing", "/Material/M/conductivity", 1, 1, 0, "Material needs conductivity"},
		},
		{
			"RequiredFieldAtTheEnd", "Material,M,Rough,0.1,1,1;",
			brief{"energyplus.field_missing", "/Material/M/specific_heat", 1, 1, 0, "Material needs specific_heat"},
		},
		{
			"RequiredFieldOfAGroup", "Zone,Z; ZoneList,L,Z,,Z;",
			brief{"energyplus.field_missing", "/ZoneList/L/zones/1/zone_name", 1, 9, 0, "ZoneList needs zone_name"},
		},
		{
			"RequiredFieldOfTheLastGroup", "Zone,Z; ZoneList,L,Z,;",
			brief{"energyplus.field_missing", "/ZoneList/L/zones/1/zone_name", 1, 9, 0, "ZoneList needs zone_name"},
		},
		{
			"TooManyFields", "Material,M,Rough,0.1,1,1,100,.9,.7,.7\n,Material,N,Rough,0.1,1,1,1;",
			brief{
				"energyplus.field_count", "/Material/M", 1, 1, 0,
				"has 16 fields, at most 9 allowed; is a semicolon missing?",
			},
		},
		{
			"TooFewGroups", "Schedule:Year,Y,;",
			brief{
				"energyplus.field_count", "/Schedule:Year/Y", 1, 1, 0, "schedule_weeks has 0 groups, at least 1 needed",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			off := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF"}}`)
			if tt.name == "ManyChoices" {
				off = compile(t, engines.KindEnergyPlus, `{"checks": {"references": "OFF"}}`)
			}
			expectOne(t, off, complete(tt.objects), "m.idf", tt.want)
		})
	}

	t.Run("GoodValues", func(t *testing.T) {
		t.Parallel()
		objects := "Zone,Z,+.5,-1,1e2,0,1,2.0,autosize,AUTOCALCULATE,,tarp,,no; Material,M,rough,=$x,1,1,$cp;" +
			"Roof,R,C,Z; Construction,C,M; ZoneList,L,Z;"
		same(t, []brief{}, briefs(checkModel(t, engine, complete(objects), "m.idf")))
	})

	t.Run("BlankFieldsBehindTheLastAreNotCounted", func(t *testing.T) {
		t.Parallel()
		objects := "Material,M,Rough,0.1,1,1,100,.9,.7,.7,,,;"
		same(t, []brief{}, briefs(checkModel(t, engine, complete(objects), "m.idf")))
	})
}

// TestModelsThatEnergyPlusSimulates has what is unusual but allowed.
func TestModelsThatEnergyPlusSimulates(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const rules = "GlobalGeometryRules,UpperLeftCorner,Counterclockwise,World;"
	for name, model := range map[string]string{
		"NoTimestepAndNoSimulationControl": "Version,25.1; Building,B;" + rules,
		"NoFieldsButRequiredOnes":          "Version,25.2; Building,B;" + rules,
		"SemicolonsBetweenObjects":         "Version,26.1;; Building,B;;;" + rules + ";",
		"OldestVersion":                    "Version,8.9; Building,B;" + rules,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{}, briefs(checkModel(t, engine, model, "m.idf")))
		})
	}
}

// completeJSON adds to classes what every model needs.
func completeJSON(classes string) string {
	return `{"Version": {"Version 1": {"version_identifier": "23.2"}}, "Building": {"B": {}},
"GlobalGeometryRules": {"GlobalGeometryRules 1": {"coordinate_system": "World",
"starting_vertex_position": "UpperLeftCorner", "vertex_entry_direction": "Counterclockwise"}},
` + classes + "}"
}

func TestFaultsOfEpJSON(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF"}}`)
	tests := []struct {
		name, classes string
		want          brief
	}{
		{
			"Class", `"Schedul:Constant": {"A": {}}`,
			brief{
				"energyplus.unknown_class", "/Schedul:Constant/A", 4, 27, 0,
				`EnergyPlus 23.2 has no class "Schedul:Constant"; did you mean Schedule:Constant?`,
			},
		},
		{
			"Field", `"Zone": {"Z": {"multipler": 2}}`,
			brief{
				"energyplus.unknown_field", "/Zone/Z/multipler", 4, 29, 0,
				`Zone has no field "multipler"; did you mean multiplier?`,
			},
		},
		{
			"FieldOfAGroup", `"Zone": {"Z": {}}, "ZoneList": {"L": {"zones": [{"zone_name": "Z", "zone_nam": "Z"}]}}`,
			brief{
				"energyplus.unknown_field", "/ZoneList/L/zones/0/zone_nam", 4, 80, 0,
				`ZoneList has no field "zone_nam"; did you mean zone_name?`,
			},
		},
		{
			"TextForNumber", `"Zone": {"Z": {"multiplier": "2"}}`,
			brief{
				"energyplus.field_type", "/Zone/Z/multiplier", 4, 30, 0, `"2" is not a number; the default is 1`,
			},
		},
		{
			"NumberForText", `"Zone": {"Z": {"part_of_total_floor_area": 1}}`,
			brief{"energyplus.field_type", "/Zone/Z/part_of_total_floor_area", 4, 44, 0, "1 is a number, not a text"},
		},
		{
			"TruthForText", `"Zone": {"Z": {"part_of_total_floor_area": true}}`,
			brief{
				"energyplus.field_type", "/Zone/Z/part_of_total_floor_area", 4, 44, 0,
				"this is neither a text nor a number",
			},
		},
		{
			"OtherCase", `"Zone": {"Z": {"part_of_total_floor_area": "no"}}`,
			brief{
				"energyplus.field_choice", "/Zone/Z/part_of_total_floor_area", 4, 44, 0, `"no" is not one of No, Yes`,
			},
		},
		{
			"OtherCaseOfAWord", `"Zone": {"Z": {"ceiling_height": "autocalculate"}}`,
			brief{
				"energyplus.field_type", "/Zone/Z/ceiling_height", 4, 34, 0,
				`"autocalculate" is not a number or Autocalculate; the default is Autocalculate`,
			},
		},
		{
			"Range", `"Zone": {"Z": {"multiplier": 0}}`,
			brief{"energyplus.field_range", "/Zone/Z/multiplier", 4, 30, 0, "0 is less than 1"},
		},
		{
			"RequiredField", `"Zone": {"Z": {}}, "ZoneList": {"L": {"zones": [{"zone_name": "Z"}, {}]}}`,
			brief{"energyplus.field_missing", "/ZoneList/L/zones/1/zone_name", 4, 38, 0, "ZoneList needs zone_name"},
		},
		{
			"GroupsAreNoList", `"ZoneList": {"L": {"zones": {"zone_name": "Z"}}}`,
			brief{"energyplus.field_type", "/ZoneList/L/zones", 4, 29, 0, "this is not a list of objects"},
		},
		{
			"Reference", `"Zone": {"Z": {}}, "ZoneList": {"L": {"zones": [{"zone_name": "Y"}]}}`,
			brief{"energyplus.unknown_zone", "/ZoneList/L/zones/0/zone_name", 4, 63, 0, `there is no zone "Y"`},
		},
		{
			"NameMissing", `"Zone": {" ": {}}`,
			brief{"energyplus.name_missing", "/Zone/ ", 4, 15, 0, "this Zone has no name"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expectOne(t, engine, completeJSON(tt.classes), "m.epJSON", tt.want)
		})
	}

	t.Run("FieldsThatEnergyPlusIgnoresAreWarnedOf", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, completeJSON(`"Zone": {"Z": {"colour": "red", "idf_order": 1}}`), "m.epJSON")
		same(t, 0, report.Errors)
		same(t, []brief{
			{"energyplus.unknown_field", "/Zone/Z/colour", 4, 26, 0, `Zone has no field "colour"`},
		}, briefs(report))
	})

	t.Run("GoodValues", func(t *testing.T) {
		t.Parallel()
		classes := `"zone": {"Z": {"ceiling_height": "Autocalculate", "multiplier": 2, "volume": ""}}`
		same(t, []brief{}, briefs(checkModel(t, engine, completeJSON(classes), "m.epJSON")))
	})

	t.Run("VersionAsNumber", func(t *testing.T) {
		t.Parallel()
		model := strings.Replace(completeJSON(`"Zone": {"Z": {}}`), `"23.2"`, "23.2", 1)
		same(t, []string{"energyplus.field_type"}, []string{checkModel(t, engine, model, "m.epJSON").Findings[0].Code})
	})
}
