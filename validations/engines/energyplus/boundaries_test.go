package energyplus_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// rooms are two zones with a wall between them.
const rooms = `Zone,A;Zone,B; Material,Brick,Rough,.1,.5,1800,900; Material,Plaster,Rough,.02,.4,1200,900;
WindowMaterial:SimpleGlazingSystem,P,2,.5; Construction,Wall,Brick,Plaster; Construction,Back,Plaster,Brick;
Construction,Glass,P; Construction,Wood,Brick;
BuildingSurface:Detailed,In A,Wall,Wall,A,,Surface,In B,NoSun,NoWind,0,4, 0,0,3, 0,0,0, 2,0,0, 2,0,3;
BuildingSurface:Detailed,In B,Wall,Back,B,,Surface,In A,NoSun,NoWind,0,4, 2,0,3, 2,0,0, 0,0,0, 0,0,3;
BuildingSurface:Detailed,Out,Wall,Wall,A,,Outdoors,,SunExposed,,0,4, 0,0,3, 0,0,0, 2,0,0, 2,0,3;
FenestrationSurface:Detailed,Window,Window,Glass,Out,,0,,1,4, .5,0,2, .5,0,1, 1.5,0,1, 1.5,0,2;
FenestrationSurface:Detailed,Door,Door,Wood,Out,,0,,1,4, 1.6,0,2, 1.6,0,1, 1.8,0,1, 1.8,0,2;
`

func TestBoundaries(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF"}}`)
	withoutGaps := func(report engines.Report) engines.Report {
		kept := report.Findings[:0]
		for _, f := range report.Findings {
			if f.Code != "energyplus.zone_open" {
				kept = append(kept, f)
			}
		}
		report.Findings = kept
		return report
	}
	same(t, []brief{}, briefs(withoutGaps(checkModel(t, engine, complete(rooms), "m.idf"))))

	const window, door = "/FenestrationSurface:Detailed/Window", "/FenestrationSurface:Detailed/Door"
	const inA, out = "/BuildingSurface:Detailed/In A", "/BuildingSurface:Detailed/Out"
	for name, tt := range map[string]struct{ old, text, severity, path, message string }{
		"WallOfGlass": {
			"Out,Wall,Wall", "Out,Wall,Glass", "ERROR", out + "/construction_name",
			`"Glass" is made of the materials of a window`,
		},
		"OpaqueWindow": {
			"Window,Window,Glass", "Window,Window,Wood", "ERROR", window + "/construction_name",
			`"Wood" is made of opaque materials`,
		},
		"DoorOfGlass": {
			"Door,Door,Wood", "Door,Door,Glass", "ERROR", door + "/construction_name",
			`"Glass" is made of the materials of a window`,
		},
		"SunInside": {
			"In B,NoSun", "In B,SunExposed", "WARNING", inA + "/sun_exposure",
			"the sun does not reach a surface that is not outdoors",
		},
		"NoOtherSurface": {
			"Wall,Wall,A,,Outdoors,,SunExposed", "Wall,Wall,A,,Surface,,NoSun", "WARNING",
			out + "/outside_boundary_condition",
			"no other surface is named, so EnergyPlus makes this surface adiabatic",
		},
		"OtherIsOutdoors": {
			"Surface,In A", "Outdoors,", "ERROR", inA + "/outside_boundary_condition_object",
			`"In B" has the boundary condition outdoors`,
		},
		"OtherHasMoreCorners": {
			"0,4, 2,0,3,", "0,5, 2,0,3, 2.1,0,2,", "ERROR", inA + "/outside_boundary_condition_object",
			`"In B" has 5 corners, this surface has 4`,
		},
		"OtherIsLarger": {
			"0,4, 2,0,3, 2,0,0", "0,4, 3,0,3, 3,0,0", "WARNING", inA + "/outside_boundary_condition_object",
			`"In B" has 9.0 m2, this surface has 6.0 m2`,
		},
		"OtherLayers": {
			"Wall,Back,B", "Wall,Wood,B", "ERROR", inA + "/construction_name",
			`"Wall" lacks the layers of the construction of "In B" in reverse order`,
		},
		"SameLayers": {
			"Wall,Back,B", "Wall,Wall,B", "WARNING", inA + "/construction_name",
			`"Wall" lacks the layers of the construction of "In B" in reverse order`,
		},
		"WindowInAdiabaticWall": {
			"A,,Outdoors,,SunExposed", "A,,Adiabatic,,NoSun", "ERROR", window + "/building_surface_name",
			`"Out" is adiabatic and takes no windows or doors`,
		},
		"WindowInGround": {
			"A,,Outdoors,,SunExposed", "A,,Ground,,NoSun", "ERROR", window + "/building_surface_name",
			`"Out" has the boundary condition ground, which takes no windows`,
		},
		"WindowBetweenZones": {
			"Glass,Out", "Glass,In A", "ERROR", window + "/building_surface_name",
			`"In A" is between zones, so this needs an outside_boundary_condition_object`,
		},
		"WindowToNowhere": {
			"Glass,Out,", "Glass,Out,Door", "WARNING", window + "/outside_boundary_condition_object",
			`"Out" is outdoors, so nothing is behind this`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := strings.Replace(complete(rooms), tt.old, tt.text, 1)
			if model == complete(rooms) {
				t.Fatalf("the model has no %q", tt.old)
			}
			report := withoutGaps(checkModel(t, engine, model, "m.idf"))
			if len(report.Findings) == 0 {
				t.Fatal("no findings, want one")
			}
			f := report.Findings[0]
			same(t, []string{tt.severity, tt.path, tt.message}, []string{string(f.Severity), f.Path, f.Message})
		})
	}
	t.Run("MoreVerticesOnALine", func(t *testing.T) {
		t.Parallel()
		model := strings.Replace(complete(rooms), "0,4, 2,0,3,", "0,6, 2,0,3, 2,0,2, 2,0,0,", 1)
		same(t, []brief{}, briefs(withoutGaps(checkModel(t, engine, model, "m.idf"))))
	})
	t.Run("AnotherNamesAnother", func(t *testing.T) {
		t.Parallel()
		model := strings.Replace(complete(rooms), "A,,Outdoors,,SunExposed", "A,,Surface,In B,NoSun", 1)
		want := brief{
			"energyplus.boundary", out + "/outside_boundary_condition_object", 6, 51, 0,
			`"In B" names another, "In A"`,
		}
		same(t, want, briefs(withoutGaps(checkModel(t, engine, model, "m.idf")))[0])
	})
}

func TestConstructions(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	const materials = `Material:NoMass,M,Rough,1; Material:AirGap,Air,.1; Material:InfraredTransparent,IR;
		Material:RoofVegetation,Green; WindowMaterial:SimpleGlazingSystem,Simple,2,.5;
		WindowMaterial:Gas,Gas,Air,.01; WindowMaterial:GasMixture,Mix,.01,2,Air,.5,Argon,.5;
		WindowMaterial:Glazing:RefractionExtinctionMethod,Glass,.003,1.5,9,1.5,9;
		WindowMaterial:Shade,Shade,.1,.1,.1,.1,.9,0,.01,.1; WindowMaterial:Shade,Shade 2,.1,.1,.1,.1,.9,0,.01,.1;`
	for layers, want := range map[string]struct{ field, message string }{
		"Air,M":                         {"outside_layer", "an air gap is the first or the last layer"},
		"M,Air":                         {"layer_2", "an air gap is the first or the last layer"},
		"M,Green":                       {"layer_2", "vegetation is not the first layer"},
		"IR,M":                          {"outside_layer", "a material transparent to infrared is not the only layer"},
		"M,,M":                          {"layer_3", "the layer before this is blank"},
		"Glass,Gas,M":                   {"layer_3", `"M" is opaque, but other layers are those of a window`},
		"Glass,Gas":                     {"layer_2", "gas is the first or the last layer"},
		"Mix,Glass":                     {"outside_layer", "gas is the first or the last layer"},
		"Glass,Glass":                   {"layer_2", "two layers of the same kind are beside each other"},
		"Simple,Gas,Simple":             {"layer_2", "a simple glazing system has another glass or gas"},
		"Shade":                         {"outside_layer", "a shade, blind or screen is the only layer"},
		"Glass,Shade,Glass":             {"layer_2", "a shade or blind between glass has no gas on both sides"},
		"Shade,Glass,Gas,Glass,Shade 2": {"layer_5", "a window has one shade, blind or screen"},
		"Glass,Gas,Glass,Gas,Glass,Gas,Glass,Gas,Glass": {
			"layer_9", "a window has 9 layers, at most 8 allowed",
		},
	} {
		t.Run(layers, func(t *testing.T) {
			t.Parallel()
			objects, path := materials+"Construction,C,"+layers+";", "Construction/C/"+want.field
			expectFinding(t, engine, objects, "energyplus.construction", "ERROR", path, want.message)
		})
	}
	for _, layers := range []string{
		"M,Air,M", "Green,M", "IR", "Glass,Gas,Glass", "Glass,Gas,Shade,Gas,Glass", "Glass,Gas,Glass,Shade", "Simple",
		"Simple,Shade",
	} {
		t.Run(layers, func(t *testing.T) {
			t.Parallel()
			model := complete(materials + "Construction,C," + layers + ";")
			same(t, []brief{}, briefs(checkModel(t, engine, model, "m.idf")))
		})
	}
}

func TestConstructionOfEpJSON(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	model := completeJSON(`"Material:AirGap": {"Air": {"thermal_resistance": 0.1}},
"Material:NoMass": {"M": {"roughness": "Rough", "thermal_resistance": 1}},
"Construction": {"C": {"layer_2": "Air", "layer_3": "M", "outside_layer": "M"}}`)
	same(t, []brief{}, briefs(checkModel(t, engine, model, "m.epJSON")))
}

func TestZonesWithoutSurfaces(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{"checks": {"geometry": "OFF"}}`)
	expectFinding(t, engine, "Zone,Store;", "energyplus.zone_without_surfaces", "ERROR", "Zone/Store",
		`no surface belongs to the zone "Store"`)
	// EnergyPlus makes the other side of a surface whose boundary is a zone.
	made := strings.NewReplacer("Zone,B;", "", "Surface,In B", "Zone,B").Replace(rooms)
	lines := strings.Split(made, "\n")
	model := complete("Zone,B;" + strings.Join(append(lines[:4], lines[5:]...), "\n"))
	same(t, []brief{}, briefs(checkModel(t, engine, model, "m.idf")))
}
