package energyplus_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// box is a zone of six surfaces. The long wall in the south is two, so that edges meet in the middle of others.
const box = `Zone,Z; Material:NoMass,M,Rough,1;Construction,C,M;Construction,G,P;
Wall:Detailed,West,C,Z,,Outdoors,,,,0,4, 0,6,3, 0,6,0, 0,0,0, 0,0,3;
Wall:Detailed,South A,C,Z,,Outdoors,,,,0,4, 0,0,3, 0,0,0, 2,0,0, 2,0,3;
Wall:Detailed,South B,C,Z,,Outdoors,,,,0,4, 2,0,3, 2,0,0, 5,0,0, 5,0,3;
Wall:Detailed,East,C,Z,,Outdoors,,,,0,4, 5,0,3, 5,0,0, 5,6,0, 5,6,3;
Wall:Detailed,North,C,Z,,Outdoors,,,,0,4, 5,6,3, 5,6,0, 0,6,0, 0,6,3;
BuildingSurface:Detailed,Floor,Floor,C,Z,,Ground,,,,0,4, 0,0,0, 0,6,0, 5,6,0, 5,0,0;
BuildingSurface:Detailed,Roof,Roof,C,Z,,Outdoors,,,,0,4, 0,6,3, 0,0,3, 5,0,3, 5,6,3;
FenestrationSurface:Detailed,Window,Window,G,South A,,0,,1,4, .5,0,2, .5,0,1, 1.5,0,1, 1.5,0,2;
WindowMaterial:SimpleGlazingSystem,P,2,.5;
`

func TestGeometry(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	same(t, []brief{}, briefs(checkModel(t, engine, complete(box), "m.idf")))
	clockwise := strings.NewReplacer(
		"Counterclockwise", "Clockwise",
		"0,0,0, 0,6,0, 5,6,0, 5,0,0", "5,0,0, 5,6,0, 0,6,0, 0,0,0",
		"0,6,3, 0,0,3, 5,0,3, 5,6,3", "5,6,3, 5,0,3, 0,0,3, 0,6,3",
	).Replace(complete(box))
	same(t, []brief{}, briefs(checkModel(t, engine, clockwise, "m.idf")))

	tests := []struct {
		name, old, text string
		errors          int
		want            brief
	}{
		{
			"MoreVerticesStated", "0,4, 0,6,3, 0,6,0", "0,5, 0,6,3, 0,6,0", 1,
			brief{
				"energyplus.vertex_count", "/Wall:Detailed/West/number_of_vertices", 2, 39, 0,
				"5 vertices are stated, 4 are given",
			},
		},
		{
			"FewerVerticesStated", "0,4, 0,6,3, 0,6,0", "0,3, 0,6,3, 0,6,0", 0,
			brief{
				"energyplus.vertex_count", "/Wall:Detailed/West/number_of_vertices", 2, 39, 0,
				"3 vertices are stated, 4 are given",
			},
		},
		{
			"TwoVertices", "0,4, 0,6,3, 0,6,0, 0,0,0, 0,0,3;", "0,, 0,6,3, 0,6,0;", 1,
			brief{"energyplus.vertex_count", "/Wall:Detailed/West", 2, 1, 0, "has 2 vertices, at least 3 needed"},
		},
		{
			"OneLine", "0,6,3, 0,6,0, 0,0,0, 0,0,3;", "0,6,3, 0,6,2, 0,6,1, 0,6,0;", 1,
			brief{
				"energyplus.no_area", "/Wall:Detailed/West", 2, 1, 0,
				"the vertices are in one line or one point, so the surface has no area",
			},
		},
		{
			"CoordinateMissing", "0,0,3;\nWall:Detailed,South A", "0,0;\nWall:Detailed,South A", 1,
			brief{
				"energyplus.field_missing", "/Wall:Detailed/West/vertices/3/vertex_z_coordinate", 2, 1, 0,
				"Wall:Detailed needs vertex_z_coordinate",
			},
		},
		{
			"FloorUpsideDown", "0,0,0, 0,6,0, 5,6,0, 5,0,0", "5,0,0, 5,6,0, 0,6,0, 0,0,0", 0,
			brief{
				"energyplus.upside_down", "/BuildingSurface:Detailed/Floor", 7, 1, 0,
				"this floor is upside down by the order of its vertices",
			},
		},
		{
			"RoofUpsideDown", "0,6,3, 0,0,3, 5,0,3, 5,6,3", "5,6,3, 5,0,3, 0,0,3, 0,6,3", 0,
			brief{
				"energyplus.upside_down", "/BuildingSurface:Detailed/Roof", 8, 1, 0,
				"this roof is upside down by the order of its vertices",
			},
		},
		{
			"WindowFacingInside", ".5,0,2, .5,0,1, 1.5,0,1, 1.5,0,2", "1.5,0,2, 1.5,0,1, .5,0,1, .5,0,2", 1,
			brief{
				"energyplus.vertex_order", "/FenestrationSurface:Detailed/Window", 9, 1, 0,
				"faces the other way than South A by the order of its vertices",
			},
		},
		{
			"NotPlanar", ".5,0,1, 1.5,0,1,", ".5,0,1, 1.5,-.5,1,", 0,
			brief{
				"energyplus.not_planar", "/FenestrationSurface:Detailed/Window", 9, 1, 0,
				"the vertices are not in one plane: one is 0.24 m off",
			},
		},
		{
			"Gap", "Wall:Detailed,East,C,Z,,Outdoors,,,,0,4, 5,0,3, 5,0,0, 5,6,0, 5,6,3;", "", 0,
			brief{"energyplus.zone_open", "/Zone/Z", 1, 1, 0, `the surfaces of the zone "Z" leave a gap`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := checkModel(t, engine, strings.Replace(complete(box), tt.old, tt.text, 1), "m.idf")
			same(t, []brief{tt.want}, briefs(report))
			same(t, tt.errors, report.Errors)
		})
	}

	t.Run("EpJSON", func(t *testing.T) {
		t.Parallel()
		model := completeJSON(`"Zone": {"Z": {}},
"Material:NoMass": {"M": {"roughness": "Rough", "thermal_resistance": 1}},
"Construction": {"C": {"outside_layer": "M"}}, "BuildingSurface:Detailed": {"S": {"surface_type": "Wall",
"construction_name": "C", "zone_name": "Z", "outside_boundary_condition": "Outdoors",
"number_of_vertices": 4, "vertices": [
{"vertex_x_coordinate": 0, "vertex_y_coordinate": 0, "vertex_z_coordinate": 3},
{"vertex_x_coordinate": 0, "vertex_y_coordinate": 0, "vertex_z_coordinate": 0},
{"vertex_x_coordinate": 1, "vertex_y_coordinate": 0, "vertex_z_coordinate": 0}]}}`)
		same(t, []brief{
			{"energyplus.zone_open", "/Zone/Z", 4, 15, 0, `the surfaces of the zone "Z" leave a gap`},
			{
				"energyplus.vertex_count", "/BuildingSurface:Detailed/S/number_of_vertices", 8, 23, 0,
				"4 vertices are stated, 3 are given",
			},
		}, briefs(checkModel(t, engine, model, "m.epJSON")))
	})
}
