package energyplus_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestModelReferences(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {
		"zone_surfaces": "OFF", "required_fields": "OFF", "values": "OFF", "schedules": "OFF", "vertices": "OFF"}}`)
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
			"PropertiesAreNot", "Construction,C,A; MaterialProperty:PhaseChange,B; Material,B;",
			"/Construction/C/outside_layer",
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
			"ZoneOfList", "ZoneList,L,Z,Y; Zone,Z;", "/ZoneList/L/zones/1/zone_name",
			"unknown_zone", `there is no zone "Y"`,
		},
		{
			"Space", "SpaceList,L,S,T; Space,S,Z; Zone,Z;", "/SpaceList/L/spaces/1/space_name",
			"unknown_space", `there is no space "T"`,
		},
		{
			"SpaceOfZoneThatHasOne", "SpaceList,L,S,Z; Space,S,Z; Zone,Z;", "/SpaceList/L/spaces/1/space_name",
			"unknown_space", `there is no space "Z"`,
		},
		{
			"NoRemainder", "SpaceList,L,S,Z-Remainder; Space,S,Z; Zone,Z; Construction,C; " +
				"BuildingSurface:Detailed,A,Wall,C,Z,S;", "/SpaceList/L/spaces/1/space_name",
			"unknown_space", `there is no space "Z-Remainder"`,
		},
		{
			"BoundaryIsNoZone", "BuildingSurface:Detailed,A,Wall,C,Z,,Surface,Z; Construction,C; Zone,Z;",
			"/BuildingSurface:Detailed/A/outside_boundary_condition_object",
			"unknown_surface", `there is no surface "Z", which the condition Surface needs`,
		},
		{
			"MultiplierOfNoWindow", "SurfaceProperty:IncidentSolarMultiplier,Pane;",
			"/SurfaceProperty:IncidentSolarMultiplier/surface_name",
			"unknown_surface", `there is no surface "Pane"`,
		},
		{
			"Schedule", "Lights,L,Z,S; Zone,Z; Schedule:Day:Hourly,S;", "/Lights/L/schedule_name",
			"unknown_schedule", `there is no schedule "S"`,
		},
		{
			"Week", "Schedule:Year,Y,,W,1,1,6,30,V,7,1,12,31; Schedule:Week:Daily,W;",
			"/Schedule:Year/Y/schedule_weeks/1/schedule_week_name",
			"unknown_week_schedule", `there is no week schedule "V"`,
		},
		{
			"Day", "Schedule:Week:Compact,W,For: AllDays,D;", "/Schedule:Week:Compact/W/data/0/schedule_day_name",
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

func TestReferencesByTheDictionary(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {"required_fields": "OFF"}}`)
	tests := []struct {
		name, objects string
		want          brief
	}{
		{
			"FewClasses", "BranchList,L,B; Branch,A;",
			brief{
				"energyplus.unknown_object", "/BranchList/L/branches/0/branch_name", 1, 14, 0, `there is no Branch "B"`,
			},
		},
		{
			"ManyClasses", "Fan:OnOff,Fan; AirTerminal:SingleDuct:ParallelPIU:Reheat,P,,,,,,,,,,,Fun;",
			brief{
				"energyplus.unknown_object", "/AirTerminal:SingleDuct:ParallelPIU:Reheat/P/fan_name", 1, 70, 0,
				`there is no Fan:ConstantVolume or Fan:SystemModel "Fun"`,
			},
		},
		{
			"TypeBeside", "Fan:OnOff,Supply; Branch,B,,Fan:ConstantVolume,Supply,In,Out; Fan:ConstantVolume,Suply;",
			brief{
				"energyplus.unknown_object", "/Branch/B/components/0/component_name", 1, 48, 0,
				`there is no Fan:ConstantVolume "Supply"; did you mean Suply?`,
			},
		},
		{
			"ClassThatDoesNotFit", "Branch,B,,Fan:ConstantVolum,,In,Out;",
			brief{
				"energyplus.unknown_type", "/Branch/B/components/0/component_object_type", 1, 11, 0,
				`there is no class for this field called "Fan:ConstantVolum"; did you mean Fan:ConstantVolume?`,
			},
		},
		{
			"NameThatIsAReference", "MaterialProperty:PhaseChange,M;",
			brief{
				"energyplus.unknown_material", "/MaterialProperty:PhaseChange/M", 1, 30, 0, `there is no material "M"`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			off := compile(t, engines.KindEnergyPlus, `{"checks": {"required_fields": "OFF", "zone_surfaces": "OFF"}}`)
			expectOne(t, off, complete(tt.objects), "m.idf", tt.want)
		})
	}

	for name, objects := range map[string]string{
		"NameByField":        "FluidProperties:Name,Salt,Refrigerant; FluidProperties:Saturated,Salt,Enthalpy;",
		"BuiltInFluid":       "FluidProperties:Concentration,Water,Density;",
		"NameOfEachZone":     "Zone,North; DemandManager:Lights,D,,,,,,,,,North Wing; Lights,Wing,North;",
		"NameOfUnknownClass": "Sched:Constant,Always; Fan:OnOff,F,Always;",
		"TypedOutOfTheLists": "Fan:ConstantVolume,F; Dehumidifier:Desiccant:System,D,,,,,,,,,,,,,Fan:ConstantVolume,F;",
		"Preprocessor":       "Floor:Detailed,F,,,,OtherSideCoefficients,surfPropOthSdCoefSlabAverage;",
		"EmptyList":          "Sizing:Plant,;",
		"SpaceLikeItsZone":   "Zone,Z; SpaceList,L,Z;",
		"Remainder": "Zone,Z; Space,S,Z; SpaceList,L,Z-Remainder; BuildingSurface:Detailed,A,Wall,C,Z,S; " +
			"BuildingSurface:Detailed,B,Wall,C,Z; Construction,C,M; Material,M;",
		"MultiplierOfWindow": "SurfaceProperty:IncidentSolarMultiplier,W; Window,W,C,A; Construction,C,M; " +
			"WindowMaterial:Glazing,M; BuildingSurface:Detailed,A,Wall,C,Z; Zone,Z;",
		"BoundaryIsASurface": "BuildingSurface:Detailed,A,Wall,C,Z,,SURFACE,a; Construction,C,M; Material,M; " +
			"Zone,Z;",
		"BoundaryIsBlank": "BuildingSurface:Detailed,A,Wall,C,Z,,Surface,,NoSun; Construction,C,M; " +
			"Material,M; Zone,Z;",
		"BoundaryIsAZone": "BuildingSurface:Detailed,A,Wall,C,Z,,Zone,Y; Construction,C,M; " +
			"Material,M; Zone,Z; Zone,Y;",
		"FuelFired": "HeatPump:AirToWater:FuelFired:Heating,H; " +
			"PlantEquipmentList,L,HeatPump:AirToWater:FuelFired:Heating,H;" +
			"Branch,B,,HeatPump:AirToWater:FuelFired:Heating,H,In,Out;",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range checkModel(t, engine, complete(objects), "m.idf").Findings {
				if strings.Contains(f.Code, "unknown_") && f.Code != "energyplus.unknown_class" {
					t.Errorf("finding = %+v, want no reference that leads nowhere", f)
				}
			}
		})
	}

	t.Run("LooseReferencesAreWarnedOf", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, complete("Sizing:Plant,Loop; Schedule:Constant,S,On/Off,1;"), "m.idf")
		same(t, 0, report.Errors)
		same(t, []brief{
			{
				"energyplus.unknown_object", "/Sizing:Plant/plant_or_condenser_loop_name", 1, 14, 0,
				`there is no CondenserLoop or PlantLoop "Loop"`,
			},
			{
				"energyplus.unknown_schedule_type_limits", "/Schedule:Constant/S/schedule_type_limits_name", 1, 40, 0,
				`there is no schedule type limits "On/Off"`,
			},
		}, briefs(report))
	})
}

// TestUnreadReferences has a field that EnergyPlus reads only in some modes.
func TestUnreadReferences(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF"}}`)
	const people = "Zone,Z; Schedule:Constant,S,,1; People,P,Z,S,People,1,,,.3,,S,,No,"
	const path = "People/P/surface_name_angle_factor_list_name"
	for kind, severity := range map[string]string{"ZoneAveraged": "WARNING", "surfaceweighted": "ERROR"} {
		message := `there is no object for this field called "X"`
		expectFinding(t, engine, people+kind+",X;", "energyplus.unknown_object", severity, path, message)
	}
}

// TestCaseOfNames has letters whose case EnergyPlus does not ignore, and names in Latin-1.
func TestCaseOfNames(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF"}}`)
	same(t, []brief{}, briefs(checkModel(t, engine, complete("Zone,BÜRO;Zone,Büro;ZoneList,L,büro;"), "m.idf")))
	report := checkModel(t, engine, complete("Zone,B\xfcro;Zone,B\xf6ro;ZoneList,L,B\xf6ro;"), "m.idf")
	same(t, 0, report.Errors)
	expectFinding(t, engine, "Zone,BÜRO;ZoneList,L,Büro;", "energyplus.unknown_zone", "ERROR",
		"ZoneList/L/zones/0/zone_name", `there is no zone "Büro"; did you mean BÜRO?`)
}
