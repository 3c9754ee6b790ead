package energyplus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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
	return objects + "\nVersion,23.2; Timestep,4; SimulationControl; Building,B; GlobalGeometryRules,A,B,C;"
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
			{Code: "energyplus.required_object", Message: "the model has no object of the class Timestep"},
			{
				"energyplus.version_unsupported", "/Version/version_identifier", 2, 10, 0,
				"the version 7.2 is not one of 22.1, 22.2, 23.1, 23.2",
			},
			{
				"energyplus.duplicate_name", "/Material:NoMass/BRICK", 29, 1, 0,
				`the name "BRICK" is that of another Material in line 21`,
			},
			{"energyplus.field_count", "/Material:NoMass/BRICK", 29, 1, 0, "has 2 fields, at least 3 needed"},
			{
				"energyplus.unknown_material", "/Construction/Wall/layer_2", 36, 3, 0,
				`there is no material "Insulation"`,
			},
			{"energyplus.zone_without_surfaces", "/Zone/Store", 39, 1, 0, `no surface belongs to the zone "Store"`},
			{
				"energyplus.unknown_construction", "/Roof/Roof/construction_name", 44, 13, 0,
				`there is no construction "Wal"; did you mean Wall?`,
			},
			{
				"energyplus.unknown_zone", "/Lights/Office Lights/zone_or_zonelist_or_space_or_spacelist_name",
				57, 3, 0,
				`there is no zone "Ofice"; did you mean Office?`,
			},
			{
				"energyplus.unknown_schedule", "/Lights/Office Lights/schedule_name", 58, 3, 0,
				`there is no schedule "Night"`,
			},
			{Code: "rule.lit", Message: "2 zones have 1 lights"},
		}, briefs(report))
		same(t, "  Ofice,                   !- Zone or ZoneList or Space or SpaceList Name", report.Findings[7].Excerpt)
		same(t, 9, report.Errors)
	})

	t.Run("BadEpJSON", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, string(sample(t, "bad/office.epJSON")), "office.epJSON")
		same(t, []brief{
			{Code: "energyplus.required_object", Message: "the model has no object of the class Timestep"},
			{
				"energyplus.unknown_material", "/Construction/Wall/layer_2", 37, 18, 0,
				`there is no material "Insulation"`,
			},
			{"energyplus.zone_without_surfaces", "/Zone/Store", 42, 14, 0, `no surface belongs to the zone "Store"`},
			{
				"energyplus.unknown_zone", "/ZoneList/All/zones/1/zone_name", 60, 24, 0,
				`there is no zone "Sotre"; did you mean Store?`,
			},
			{Code: "rule.lit", Message: "2 zones have 0 lights"},
		}, briefs(report))
	})
}

func TestModelReferences(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF", "field_counts": "OFF"}}`)
	tests := []struct{ name, objects, path, code, message string }{
		{
			"Layer", "Construction,C,A,B; Material,A;", "/Construction/C/layer_2",
			"unknown_material", `there is no material "B"`,
		},
		{
			"WindowMaterials", "Construction,C,X; WindowMaterial:Glazing,A;", "/Construction/C/outside_layer",
			"unknown_material", `there is no material "X"`,
		},
		{
			"PropertiesAreNot", "Construction,C,A; MaterialProperty:PhaseChange,A;", "/Construction/C/outside_layer",
			"unknown_material", `there is no material "A"`,
		},
		{
			"SurfaceOfWindow", "Window,W,C,South Wal; Construction:AirBoundary,C; Roof,South Wall,C,Z; Zone,Z;",
			"/Window/W/building_surface_name", "unknown_surface",
			`there is no surface "South Wal"; did you mean South Wall?`,
		},
		{
			"ZoneOfSurfaceIsNoList", "BuildingSurface:Detailed,S,Wall,C,L; Construction,C; ZoneList,L,Z; Zone,Z;",
			"/BuildingSurface:Detailed/S/zone_name", "unknown_zone", `there is no zone "L"`,
		},
		{
			"ZoneOfList", "ZoneList,L,Z,Y; Zone,Z;", "/ZoneList/L/zone_name", "unknown_zone", `there is no zone "Y"`,
		},
		{
			"Space", "SpaceList,L,S,T; Space,S,Z; Zone,Z;", "/SpaceList/L/space_name",
			"unknown_space", `there is no space "T"`,
		},
		{
			"Schedule", "Lights,L,Z,S; Zone,Z; Schedule:Day:Hourly,S;", "/Lights/L/schedule_name",
			"unknown_schedule", `there is no schedule "S"`,
		},
		{
			"Week", "Schedule:Year,Y,,W,1,1,6,30,V,7,1,12,31; Schedule:Week:Daily,W;",
			"/Schedule:Year/Y/schedule_week_name",
			"unknown_week_schedule", `there is no week schedule "V"`,
		},
		{
			"Day", "Schedule:Week:Compact,W,For: AllDays,D;", "/Schedule:Week:Compact/W/schedule_day_name",
			"unknown_day_schedule", `there is no day schedule "D"`,
		},
		{
			"Limits", "Schedule:Constant,S,On/Off,1;", "/Schedule:Constant/S/schedule_type_limits_name",
			"unknown_schedule_type_limits", `there is no schedule type limits "On/Off"`,
		},
		{
			"Thermostat", "ThermostatSetpoint:DualSetpoint,T,H,C; Schedule:Constant,H,,1;",
			"/ThermostatSetpoint:DualSetpoint/T/cooling_setpoint_temperature_schedule_name",
			"unknown_schedule", `there is no schedule "C"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := checkModel(t, engine, complete(tt.objects), "m.idf")
			if len(report.Findings) != 1 {
				t.Fatalf("findings = %+v, want one", report.Findings)
			}
			f := report.Findings[0]
			same(t, []string{"energyplus." + tt.code, tt.path, tt.message}, []string{f.Code, f.Path, f.Message})
		})
	}

	t.Run("NamesAreComparedWithoutCase", func(t *testing.T) {
		t.Parallel()
		objects := "LIGHTS,l,ALL ZONES,always; ZoneList,All Zones,z; ZONE,Z; Schedule:constant,ALWAYS; Lights,m,=$z,;"
		same(t, []brief{}, briefs(checkModel(t, engine, complete(objects), "m.idf")))
	})
}

func TestModelChecks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, config, model string
		want                []brief
	}{
		{
			"VersionUnsupported", `{}`, strings.Replace(complete(""), "23.2", "7.2.0", 1),
			[]brief{{
				"energyplus.version_unsupported", "/Version/version_identifier", 2, 9, 0,
				"the version 7.2 is not one of 8.9, 9.0, 9.1, 9.2, 9.3, 9.4, 9.5, 9.6, 22.1, 22.2, 23.1, 23.2, " +
					"24.1, 24.2, 25.1, 25.2, 26.1",
			}},
		},
		{
			"VersionIsNone", `{}`, strings.Replace(complete(""), "23.2", "new", 1),
			[]brief{{
				"energyplus.version_unsupported", "/Version/version_identifier", 2, 9, 0,
				"this is no version of EnergyPlus, such as 23.2",
			}},
		},
		{"VersionConfigured", `{"versions": ["7.2"]}`, strings.Replace(complete(""), "23.2", "7.2", 1), []brief{}},
		{
			"RequiredByConfiguration", `{"required_objects": [["RunPeriod", "SizingPeriod:DesignDay"]]}`, complete(""),
			[]brief{{
				Code:    "energyplus.required_object",
				Message: "the model has no object of the class RunPeriod or SizingPeriod:DesignDay",
			}},
		},
		{
			"Repeated", `{}`, complete("building,A;\n"),
			[]brief{{
				"energyplus.repeated_object", "/Building/B", 3, 46, 0, "a model has one object of the class Building",
			}},
		},
		{
			"DuplicateNames", `{}`, complete("Schedule:Constant,Always,,1;\nSchedule:Compact,ALWAYS,,a,b,c;"),
			[]brief{{
				"energyplus.duplicate_name", "/Schedule:Compact/ALWAYS", 2, 1, 0,
				`the name "ALWAYS" is that of another Schedule:Constant in line 1`,
			}},
		},
		{
			"NameMissing", `{"checks": {"zone_surfaces": "OFF", "field_counts": "OFF"}}`, complete("Zone,;"),
			[]brief{{"energyplus.name_missing", "/Zone/", 1, 1, 0, "this Zone has no name"}},
		},
		{
			"TooManyFields", `{}`, complete("Material,M,Rough,0.1,1,1,1,.9,.7,.7\n,Material,N,Rough,0.1,1,1,1;"),
			[]brief{{
				"energyplus.field_count", "/Material/M", 1, 1, 0,
				"has 16 fields, at most 9 allowed; is a semicolon missing?",
			}},
		},
		{
			"TooFewFields", `{"checks": {"field_counts": "WARNING"}}`, complete("Material,M,Rough,,,;"),
			[]brief{{"energyplus.field_count", "/Material/M", 1, 1, 0, "has 2 fields, at least 6 needed"}},
		},
		{
			"Rules", `{"rules": [
				{"id": "modern", "assert": "major > 22 || major == 22 && minor >= 2"},
				{"id": "idf", "assert": "format == 'epjson'", "message": "{format} of {version} has {objects} objects"},
				{"id": "class", "assert": "counts['BUILDING'] == 1 && counts['Chiller'] == 0"}]}`,
			complete(""),
			[]brief{{Code: "rule.idf", Message: "idf of 23.2 has 5 objects"}},
		},
		{
			"RuleNotEvaluated", `{"rules": [{"id": "a", "assert": "10 / counts['Zone'] > 1", "severity": "INFO"}]}`,
			complete(""),
			[]brief{{Code: "rule.a", Message: "not evaluated: division by zero"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := checkModel(t, compile(t, engines.KindEnergyPlus, tt.config), tt.model, "m.idf")
			same(t, tt.want, briefs(report))
		})
	}
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

func TestHostileModels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, filename, model string
		want                  brief
	}{
		{
			"Unterminated", "m.idf", "Version,23.2;\r\n  Building,A,\r\n 0",
			brief{"energyplus.malformed", "", 2, 3, 0, "the object Building is not ended by a semicolon"},
		},
		{
			"UnterminatedClass", "m.idf", "Version",
			brief{"energyplus.malformed", "", 1, 1, 0, `a comma or a semicolon is missing behind "Version"`},
		},
		{
			"NoComma", "m.idf", "Building,\n  A  ! the name, and no comma\n  0;",
			brief{"energyplus.malformed", "", 2, 4, 0, "a comma or a semicolon is missing at the end of this line"},
		},
		{"NoClass", "m.idf", "Zone,A;;", brief{"energyplus.malformed", "", 1, 8, 0, "a class is missing before this"}},
		{
			"Macro", "m.idf", "##include /etc/passwd\nVersion,23.2;",
			brief{"energyplus.macro", "", 1, 1, 0, `macros are not read: expand "##include /etc/passwd" before`},
		},
		{
			"Binary", "m.idf", "\x89PNG\r\n\x1a\n\x00",
			brief{"energyplus.malformed", "", 3, 1, 0, "the file holds NUL, which no text does"},
		},
		{
			"XMLThatSaysIDF", "m.idf", "<a>,</a>",
			brief{"energyplus.malformed", "", 1, 1, 0, `"<a>" is no class of EnergyPlus`},
		},
		{
			"IDFThatSaysEpJSON", "m.epJSON", "Version,23.2;",
			brief{"json.malformed", "", 1, 1, 0, `"V" is not expected here`},
		},
		{
			"EpJSONThatSaysIDF", "m.idf", `{"Version": {}}`,
			brief{"energyplus.malformed", "", 1, 1, 0, `"{"Version": {}}" is no class of EnergyPlus`},
		},
		{
			"MillionFields", "m.idf", "A" + strings.Repeat(",1", 1_000_001) + ";",
			brief{"energyplus.too_large", "", 1, 2_000_003, 0, "the model has more than 1000000 fields"},
		},
		{
			"Size", "m.idf", strings.Repeat(" ", 17<<20),
			brief{"energyplus.too_large", "", 0, 0, 0, "the model has 17825792 bytes, at most 16777216 are checked"},
		},
		{
			"EpJSONDepth", "m.epJSON", strings.Repeat(`{"a":`, 100_000),
			brief{"json.depth", "", 1, 1001, 0, "nested deeper than 200 levels"},
		},
		{"List", "m.epJSON", `[]`, brief{"energyplus.malformed", "", 1, 1, 0, "a model is an object of classes"}},
		{
			"ClassIsList", "m.epJSON", "{\"Zone\":\n[]}",
			brief{"energyplus.malformed", "/Zone", 2, 1, 0, "a class is an object of named objects"},
		},
		{
			"ObjectIsText", "m.epJSON", `{"Zone": {"A": "B"}}`,
			brief{"energyplus.malformed", "/Zone/A", 1, 16, 0, "an object has its fields as members"},
		},
	}
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{tt.want}, briefs(checkModel(t, engine, tt.model, tt.filename)))
		})
	}

	t.Run("LineEndsAndCommentsMayMix", func(t *testing.T) {
		t.Parallel()
		model := "\ufeff! é\rVersion,!x\r\n23.2 ! y\n;Timestep,4;\r\n\r\nSimulationControl;Building,Straße;" +
			"\tGlobalGeometryRules,A,B\n,C;! end"
		same(t, []brief{}, briefs(checkModel(t, engine, model, "")))
	})

	t.Run("OldEncodingsAreWarnedOf", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, complete("! 90\xb0\n"), "m.idf")
		message := "the text is not UTF-8; characters other than ASCII may be misread"
		same(t, []brief{{"energyplus.encoding", "", 1, 5, 0, message}}, briefs(report))
		same(t, 0, report.Errors)
	})

	t.Run("ManyFaultsAreCountedAndFolded", func(t *testing.T) {
		t.Parallel()
		for form, model := range map[string]string{
			"m.idf":    complete(strings.Repeat("Construction,C,M;", 20_000)),
			"m.epJSON": `{"Construction": {` + manyConstructions(20_000) + `"Z": {"outside_layer": "X"}}}`,
		} {
			report := checkModel(t, engine, model, form)
			if report.Errors < 20_000 || !report.Truncated || len(report.Findings) > 1000 {
				t.Errorf("%s: %d errors in %d findings, want all counted in at most 1000",
					form, report.Errors, len(report.Findings))
			}
		}
	})

	t.Run("ManyClassesAndLongNames", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&b, "Class%d,%d;\n", i, i)
		}
		b.WriteString("Zone," + strings.Repeat("x", 1<<20) + ";")
		report := checkModel(t, engine, complete(b.String()), "m.idf")
		same(t, []string{"energyplus.zone_without_surfaces"}, []string{report.Findings[0].Code})
	})

	t.Run("ContentThatEndsEarlyIsNoPass", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"m.idf", "m.epJSON", ""} {
			doc := engines.Document{Content: strings.NewReader("{}"), Size: 10, Filename: name}
			if _, err := engine.Run(t.Context(), doc); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				t.Errorf("error = %v, want unexpected EOF", err)
			}
		}
	})
}

func manyConstructions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"C%d": {"outside_layer": "M"},`, i)
	}
	return b.String()
}
