package energyplus_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestModelsThatEnergyPlusRefuses has models that EnergyPlus refuses before it simulates.
func TestModelsThatEnergyPlusRefuses(t *testing.T) {
	t.Parallel()
	const (
		zone = "Zone,Z; Material,M,Rough,.1,1,1,100; Construction,C,M;"
		wall = "BuildingSurface:Detailed,W,Wall,C,Z,,Outdoors,,SunExposed,WindExposed,.5,"
	)
	tests := []struct {
		name, objects string
		want          brief
	}{
		{
			"MisspeltClass", "Schedul:Constant,AlwaysOn,Any Number,1.0;",
			brief{
				"energyplus.unknown_class", "/Schedul:Constant", 1, 1, 0,
				`EnergyPlus 23.2 has no class "Schedul:Constant"; did you mean Schedule:Constant?`,
			},
		},
		{
			"MonthThirteen", "RunPeriod,RP,13,1,,12,31;",
			brief{"energyplus.field_range", "/RunPeriod/RP/begin_month", 1, 14, 0, "13 is more than 12"},
		},
		{
			"NegativeThickness", "Material,M,Rough,-0.1,1,1,100;",
			brief{"energyplus.field_range", "/Material/M/thickness", 1, 18, 0, "-0.1 is not more than 0 m"},
		},
		{
			"MissingSchedule", "Fan:ConstantVolume,F,NoSuchSchedule,.7,500,1,.9,1,In,Out;",
			brief{
				"energyplus.unknown_schedule", "/Fan:ConstantVolume/F/availability_schedule_name", 1, 22, 0,
				`there is no schedule "NoSuchSchedule"`,
			},
		},
		{
			"MisspeltSurfaceClass", zone + "BuildingSurfce:Detailed,W,Wall,C,Z,,Outdoors;",
			brief{
				"energyplus.unknown_class", "/BuildingSurfce:Detailed", 1, 55, 0,
				`EnergyPlus 23.2 has no class "BuildingSurfce:Detailed"; did you mean BuildingSurface:Detailed?`,
			},
		},
		{
			"MissingBranch", "BranchList,L,NoSuchBranch;",
			brief{
				"energyplus.unknown_object", "/BranchList/L/branches/0/branch_name", 1, 14, 0,
				`there is no Branch "NoSuchBranch"`,
			},
		},
		{
			"MissingComponent", "Branch,B,,Boiler:HotWater,NoSuchBoiler,In,Out;",
			brief{
				"energyplus.unknown_object", "/Branch/B/components/0/component_name", 1, 27, 0,
				`there is no Boiler:HotWater "NoSuchBoiler"`,
			},
		},
		{
			"FourVerticesStatedThreeGiven", zone + wall + "4,0,0,3,0,0,0,5,0,0;",
			brief{
				"energyplus.vertex_count", "/BuildingSurface:Detailed/W/number_of_vertices", 1, 128, 0,
				"4 vertices are stated, 3 are given",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			off := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF", "geometry": "OFF"}}`)
			expectOne(t, off, complete(tt.objects), "m.idf", tt.want)
		})
	}

	t.Run("WordForANumber", func(t *testing.T) {
		t.Parallel()
		off := compile(t, engines.KindEnergyPlus, `{}`)
		expectOne(t, off, strings.Replace(complete(""), "Timestep,4", "Timestep,abc", 1), "m.idf", brief{
			"energyplus.field_type", "/Timestep/number_of_timesteps_per_hour", 2, 24, 0,
			`"abc" is not a number; the default is 6`,
		})
	})

	t.Run("ChoiceThatDoesNotExist", func(t *testing.T) {
		t.Parallel()
		off := compile(t, engines.KindEnergyPlus, `{}`)
		building := strings.Replace(complete(""), "Building,B;", "Building,B,0,City,.04,.4,FullOutside,25,6;", 1)
		expectOne(t, off, building, "m.idf", brief{
			"energyplus.field_choice", "/Building/B/solar_distribution", 2, 71, 0,
			`"FullOutside" is not one of FullExterior, FullExteriorWithReflections, FullInteriorAndExterior, ` +
				"FullInteriorAndExteriorWithReflections, MinimalShadowing",
		})
	})
}
