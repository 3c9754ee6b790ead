package table_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestMembersOfPublishedSchemas has members that publishers write into their schemas.
func TestMembersOfPublishedSchemas(t *testing.T) {
	t.Parallel()
	const annotated = `{"schema": {"countryCode": "FR", "resources": [], "path": "x",
		"lastModified": "2026-01-01",
		"fields": [{"name": "a", "unit": "m", "examples": [1], "constraints": {"level": "x"}}]}}`
	compile(t, engines.KindTable, annotated)
	same(t, 0, len(warningsOf(annotated)))

	const further = `{"schema": {"custom_checks": [{"name": "french-siret"}], "fields": [
		{"name": "a", "arrayItem": {}}]}}`
	compile(t, engines.KindTable, further)
	same(t, []engines.ConfigError{
		{
			Pointer: "/schema/custom_checks", Code: "schema.unknown_member",
			Detail: `"custom_checks" is not a member of Table Schema, so it is ignored`,
		},
		{
			Pointer: "/schema/fields/0/arrayItem", Code: "schema.unknown_member",
			Detail: `"arrayItem" is not a member of Table Schema, so it is ignored`,
		},
	}, warningsOf(further))

	const constraints = "/schema/fields/0/constraints"
	for config, want := range map[string]string{
		`{"schema": {"primaryKeys": ["a"], "fields": [{"name": "a"}]}}`:             "/schema/primaryKeys",
		`{"schema": {"fields": [{"name": "a", "contraints": {}}]}}`:                 "/schema/fields/0/contraints",
		`{"schema": {"fields": [{"name": "a", "constraints": {"minimun": 1}}]}}`:    constraints + "/minimun",
		`{"schema": {"fields": [{"name": "a", "constraints": {"jsonSchema": 1}}]}}`: constraints + "/jsonSchema",
		`{"schema": {"fields": [{"name": "a", "enum": ["b"]}]}}`:                    "/schema/fields/0/enum",
		`{"schema": {"fields": [{"name": "a"}], "missingValue": ["-"]}}`:            "/schema/missingValue",
		`{"schema": {"fields": [{"name": "a"}]}, "comment": "x"}`:                   "/comment",
	} {
		same(t, want, refused(t, engines.KindTable, config).Pointer)
	}

	var many strings.Builder
	for i := range 30 {
		many.WriteString(`, "x` + strings.Repeat("y", i) + `zzzz": 1`)
	}
	found := warningsOf(`{"schema": {"fields": [{"name": "a"` + many.String() + `}]}}`)
	same(t, 21, len(found))
	same(t, "10 more members check nothing", found[20].Detail)
}

func warningsOf(config string) []engines.ConfigError {
	return engines.Warnings(engines.KindTable, []byte(config), engines.DefaultLimits())
}

func TestFurtherTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		field       string
		good, wrong []string
	}{
		{
			`"type": "duration"`,
			[]string{"P1Y2M3DT4H5M6.7S", "PT1M", "-P1D", "P2W"},
			[]string{"P", "PT", "1D", "P1S", "P1DT", "P1W2D"},
		},
		{
			`"type": "list"`, []string{"a", "a,b", ","}, nil,
		},
		{
			`"type": "list", "delimiter": ";", "itemType": "integer"`, []string{"1", "1;2"}, []string{"1,2", "1;", "a"},
		},
		{
			`"type": "list", "delimiter": "|", "itemType": "date", "constraints": {"minLength": 2}`,
			[]string{"2026-01-01|2026-01-02"},
			[]string{"2026-01-01", "2026-01-01|x"},
		},
		{
			`"type": "array", "constraints": {"minLength": 1, "maxLength": 2}`,
			[]string{`[1]`, `[1, [2, 3]]`},
			[]string{`[]`, `[1, 2, 3]`},
		},
		{`"type": "object", "constraints": {"minLength": 1}`, []string{`{"a": []}`}, []string{`{}`}},
		{
			`"type": "integer", "categories": [1, {"value": 2, "label": "two"}]`, []string{"1", "2"}, []string{"3"},
		},
		{`"type": "string", "categories": ["a"], "missingValues": ["-"]`, []string{"a", "-"}, []string{"b", "x"}},
		{
			`"type": "geojson"`,
			[]string{
				`{"type": "Point", "coordinates": [1, 2]}`,
				`{"type": "LineString", "coordinates": [[1, 2], [3, 4, 5]]}`,
				`{"type": "Polygon", "coordinates": [[[0, 0], [0, 1], [1, 1], [0, 0]]]}`,
				`{"type": "Feature", "geometry": null, "properties": null}`,
				`{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, "geometry":
					{"type": "GeometryCollection", "geometries": [{"type": "MultiPoint", "coordinates": []}]}}]}`,
			},
			[]string{
				`1`, `{}`, `{"type": "point", "coordinates": [1, 2]}`, `{"type": "Point", "coordinates": [1]}`,
				`{"type": "Point", "coordinates": ["1", "2"]}`, `{"type": "LineString", "coordinates": [[1, 2]]}`,
				`{"type": "Polygon", "coordinates": [[[0, 0], [0, 1], [0, 0]]]}`,
				`{"type": "Feature", "geometry": null}`,
				`{"type": "FeatureCollection", "features": [{"type": "Point", "coordinates": [1, 2]}]}`,
				`{"type": "Feature", "geometry": {}, "properties": null}`, `{"type": "GeometryCollection"}`,
			},
		},
		{
			`"type": "geojson", "format": "topojson"`,
			[]string{`{"type": "Topology", "objects": {}, "arcs": []}`},
			[]string{`{"type": "Point", "coordinates": [1, 2]}`, `{"type": "Topology"}`},
		},
	} {
		engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", `+tt.field+`}, {"name": "b"}]}}`)
		for want, texts := range [][]string{tt.good, tt.wrong} {
			for _, text := range texts {
				row := `"` + strings.ReplaceAll(text, `"`, `""`) + `",x`
				if report := run(t, engine, []byte("a,b\n"+row+"\n"), "text/csv"); report.Errors != want {
					t.Errorf("%s of %s: findings = %+v, want %d", text, tt.field, report.Findings, want)
				}
			}
		}
	}
	for config, want := range map[string]string{
		`"type": "list", "itemType": "object"`:                               "/schema/fields/0/itemType",
		`"type": "geojson", "format": "wkt"`:                                 "/schema/fields/0/format",
		`"type": "number", "categories": [1]`:                                "/schema/fields/0/categories",
		`"type": "integer", "categories": [1], "constraints": {"enum": [1]}`: "/schema/fields/0/categories",
		`"type": "integer", "categories": ["x"]`:                             "/schema/fields/0/categories/0",
		`"type": "date", "constraints": {"maxLength": 4}`:                    "/schema/fields/0/constraints",
	} {
		same(t, want, refused(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", `+config+`}]}}`).Pointer)
	}
}

func TestMissingValuesOfFields(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, `{"schema": {"missingValues": [{"value": "NA", "label": "unknown"}, "-"],
		"fields": [{"name": "a", "type": "number"}, {"name": "b", "type": "number", "missingValues": ["", "none"]}]}}`)
	report := run(t, engine, []byte("a,b\nNA,none\n-,\n,NA\n"), "text/csv")
	same(t, []brief{
		{"csv.type.number", "a", 4, 1, 3, `a "" is not a number`},
		{"csv.type.number", "b", 4, 2, 3, `b "NA" is not a number`},
	}, briefs(report))
}
