package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	const site = `{"$defs": {"id": {"type": "string", "pattern": "^S"}}, "properties": {"id": {"$ref": "#/$defs/id"},
		"zones": {"items": {"$ref": "parts/zone.json"}}}}`
	const zone = `{"type": "object", "required": ["area"], "properties": {"area": {"$ref": "../units.json#area"}}}`
	const units = `{"$defs": {"a": {"$anchor": "area", "type": "number"}}}`
	text, err := json.Marshal(units)
	if err != nil {
		t.Fatalf("write text: %v", err)
	}
	for name, config := range map[string]string{
		"Relative": `{"schema": {"$ref": "site.json"},
			"schemas": {"site.json": ` + site + `, "./parts/zone.json": ` + zone + `,
			"units.json": ` + string(text) + `}}`,
		"Up": `{"schema": {"$ref": "../up/site.json"}, "schemas": {"../up/site.json": ` + site + `,
			"../up/parts/zone.json": ` + zone + `, "../up/units.json": ` + units + `}}`,
		"Absolute": `{"schema": {"$ref": "https://a.example/x/site.json"}, "schemas": {
			"https://a.example/x/site.json": ` + site + `, "https://a.example/x/parts/zone.json": ` + zone + `,
			"https://a.example/x/units.json": ` + units + `}}`,
		"BaseOfTheSchema": `{"schema": {"$id": "https://a.example/x/root.json", "$ref": "site.json"}, "schemas": {
			"site.json": ` + site + `, "parts/zone.json": ` + zone + `,
			"https://a.example/x/units.json": ` + units + `}}`,
		"OwnAddresses": `{"schema": {"$ref": "https://a.example/x/site.json"}, "schemas": {
			"one": {"$id": "https://a.example/x/site.json", "allOf": [` + site + `]},
			"two": {"$defs": {"zone": {"$id": "https://a.example/x/parts/zone.json", "allOf": [` + zone + `]}}},
			"three": {"$id": "https://a.example/x/units.json",
				"$defs": {"a": {"$anchor": "area", "type": "number"}}}}}`,
	} {
		if name == "OwnAddresses" {
			config = strings.Replace(config, `"#/$defs/id"`, `"#/allOf/0/$defs/id"`, 1)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindJSONSchema, config)
			same(t, []brief{}, briefs(run(t, engine, []byte(`{"id": "S1", "zones": [{"area": 2}]}`), "")))
			same(t, []brief{
				{"schema.pattern", "/id", 1, 8, 0, `"1" does not match ^S`},
				{"schema.type", "/zones/0/area", 1, 32, 0, "want number, got string"},
			}, briefs(run(t, engine, []byte(`{"id": "1", "zones": [{"area": "2"}]}`), "")))
		})
	}
}

func TestSchemasReferToEachOtherInCircles(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, `{"schema": {"items": {"$ref": "b.json"}}, "schemas": {
		"b.json": {"properties": {"next": {"$ref": "c.json"}, "all": {"$ref": "schema.json"}}},
		"c.json": {"type": "object", "$ref": "b.json"}}}`)
	same(t, []brief{
		{"schema.type", "/0/next/next", 1, 28, 0, "want object, got number"},
		{"schema.type", "/0/all/0/next", 1, 49, 0, "want object, got number"},
	}, briefs(run(t, engine, []byte(`[{"next": {"next":         1}, "all": [{"next": 2}]}]`), "")))
}

func TestOldSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, `{"draft": "4", "schema": {"id": "https://a.example/", "$ref": "b#n"},
		"schemas": {"b": {"definitions": {"n": {"id": "#n", "maximum": 2, "exclusiveMaximum": true}}}}}`)
	same(t, 1, run(t, engine, []byte(`2`), "").Errors)
	engine = compile(t, engines.KindJSONSchema, `{"schema": {"$ref": "old"}, "schemas": {"old": {
		"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 2, "exclusiveMaximum": true}}}`)
	same(t, 1, run(t, engine, []byte(`2`), "").Errors)
}

func TestFaultsOfSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, config, code, pointer, detail string }{
		{
			"Missing", `{"schema": {"properties": {"a": {"$ref": "b.json#/x"}}}, "schemas": {"c.json": {}}}`,
			"schema.ref", "/schema/properties/a/$ref", `put it under "b.json" in "schemas"`,
		},
		{
			"MissingFromAnother",
			`{"schema": {"$ref": "a/b.json"}, "schemas": {"a/b.json": {"not": {"$ref": "c.json"}}}}`,
			"schema.ref", "/schemas/a~1b.json/not/$ref", `put it under "a/c.json" in "schemas"`,
		},
		{
			"MissingInAText",
			`{"schema": {"$ref": "b"}, "schemas": {"b": "{\"not\": {\"$ref\": \"https://c.example/d\"}}"}}`,
			"schema.ref", "/schemas/b", `at /not/$ref: the reference "https://c.example/d" leads to a schema`,
		},
		{
			"NothingThere", `{"schema": {"$ref": "b#/$defs/x"}, "schemas": {"b": {"$defs": {"y": {}}}}}`,
			"schema.ref", "/schema/$ref", `the reference "b#/$defs/x" cannot be resolved: there is nothing at /$defs/x`,
		},
		{
			"NoSchema", `{"schema": {}, "schemas": {"b": 1}}`, "schema.type", "/schemas/b",
			"a schema is an object, true or false",
		},
		{
			"NoJSON", `{"schema": {}, "schemas": {"b": "{\n x"}}`, "json.malformed", "/schemas/b", "line 2, column 2",
		},
		{
			"Invalid", `{"schema": {}, "schemas": {"b": {"items": {"type": "text"}}}}`, "schema.invalid",
			"/schemas/b/items/type", `"text" is not one of`,
		},
		{
			"BrokenPattern", `{"schema": {}, "schemas": {"b": {"items": {"pattern": "("}}}}`, "schema.invalid",
			"/schemas/b/items/pattern", "missing closing )",
		},
		{
			"SameAddress", `{"schema": {}, "schemas": {"b": {}, "./b": {}}}`, "schema.address", "/schemas/b",
			`"b" is the address of another schema of this step`,
		},
		{
			"AddressOfTheSchema", `{"schema": {"$id": "https://a.example/x"}, "schemas": {"https://a.example/x#": {}}}`,
			"schema.address", "/schemas/https:~1~1a.example~1x#", "is the address of another schema",
		},
		{
			"File", `{"schema": "./site.schema.json"}`, "schema.type", "/schema",
			`to put the file "./site.schema.json" here, run: simplevalidations workflows bundle`,
		},
		{
			"TooLargeInAll", `{"schema": {}, "schemas": {"a": {"title": "` + strings.Repeat("x", 600<<10) +
				`"}, "b": {"title": "` + strings.Repeat("x", 600<<10) + `"}}}`,
			"schema.too_large", "/schema", "at most 1048576 are allowed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fault := refused(t, engines.KindJSONSchema, tt.config)
			same(t, []string{tt.code, tt.pointer}, []string{fault.Code, fault.Pointer})
			if !strings.Contains(fault.Detail, tt.detail) {
				t.Errorf("detail = %s, want %s", fault.Detail, tt.detail)
			}
		})
	}
}

// TestDynamicReferencesBetweenSchemasAreMetered has a schema that only a dynamic reference from another one reaches.
func TestDynamicReferencesBetweenSchemasAreMetered(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxSchemaWork = 1000
	engine := compileWithin(t, engines.KindJSONSchema, `{"schema": {"$ref": "list"}, "schemas": {"list": {
		"$defs": {"n": {"$dynamicAnchor": "T", "enum": [`+strings.Repeat("0,", 500)+`1]},
		"l": {"$id": "l", "items": {"$dynamicRef": "#T"}, "$defs": {"t": {"$dynamicAnchor": "T"}}}},
		"$ref": "#/$defs/l"}}}`, limits)
	report := run(t, engine, []byte("[1, 1, 1]"), "")
	if len(report.Findings) != 1 || report.Findings[0].Code != "schema.not_evaluated" {
		t.Errorf("findings = %+v, want that the check costs too much", report.Findings)
	}
}
