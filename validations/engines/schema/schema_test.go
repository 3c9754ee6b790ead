package schema_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/enginetest"
)

func TestSchemaKeywords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		schema  string
		good    string
		bad     string
		code    string
		path    string
		message string
	}{
		{"Type", `{"type": ["integer", "null"]}`, `1.0`, `"x"`, "schema.type", "", "want null or integer, got string"},
		{"Enum", `{"enum": ["A", 2]}`, `2`, `"B"`, "schema.enum", "", `"B" is not one of A, 2`},
		{"Const", `{"const": 1}`, `1.0`, `2`, "schema.const", "", "2 is not 1"},
		{"Minimum", `{"minimum": 0.5}`, `0.5`, `0.4`, "schema.minimum", "", "0.4 is under 0.5"},
		{"Maximum", `{"maximum": 5}`, `5`, `5.1`, "schema.maximum", "", "5.1 is over 5"},
		{"ExclusiveMinimum", `{"exclusiveMinimum": 0}`, `1`, `0`, "schema.exclusiveMinimum", "", "0 is not over 0"},
		{"ExclusiveMaximum", `{"exclusiveMaximum": 9}`, `8`, `9`, "schema.exclusiveMaximum", "", "9 is not under 9"},
		{
			"MultipleOf", `{"multipleOf": 0.01}`, `0.07`, `0.075`, "schema.multipleOf", "",
			"0.075 is not a multiple of 0.01",
		},
		{
			"Precision", `{"maximum": 9007199254740992}`, `9007199254740992`, `9007199254740993`,
			"schema.maximum", "", "9007199254740993 is over 9007199254740992",
		},
		{"MinLength", `{"minLength": 2}`, `"éé"`, `"é"`, "schema.minLength", "", "has 1 character, at least 2 needed"},
		{
			"MaxLength", `{"maxLength": 2}`, `"éé"`, `"abc"`, "schema.maxLength", "",
			"has 3 characters, at most 2 allowed",
		},
		{"Pattern", `{"pattern": "^a+$"}`, `"aa"`, `"b"`, "schema.pattern", "", `"b" does not match ^a+$`},
		{
			"FormatDate", `{"format": "date"}`, `"2026-02-28"`, `"2026-02-30"`, "schema.format", "",
			`"2026-02-30" is not a valid date`,
		},
		{"FormatEmail", `{"format": "email"}`, `"a@b.example"`, `"a"`, "schema.format", "", `"a" is not a valid email`},
		{
			"FormatUUID", `{"format": "uuid"}`, `"123e4567-e89b-12d3-a456-426614174000"`, `"1"`, "schema.format", "",
			`"1" is not a valid uuid`,
		},
		{
			"FormatURI", `{"format": "uri"}`, `"http://[::1]:80/a?b=%20#c"`, `"http://a/b c"`, "schema.format", "",
			`"http://a/b c" is not a valid uri`,
		},
		{
			"FormatURIReference", `{"format": "uri-reference"}`, `"../a%20b?c#d"`, `"not a uri"`, "schema.format", "",
			`"not a uri" is not a valid uri-reference`,
		},
		{
			"FormatURIOfASCII", `{"format": "uri-reference"}`, `""`, `"ä"`, "schema.format", "",
			`"ä" is not a valid uri-reference`,
		},
		{
			"FormatIRIReference", `{"format": "iri-reference"}`, `"//ü.example/ä"`, `"not an iri"`, "schema.format", "",
			`"not an iri" is not a valid iri-reference`,
		},
		{
			"FormatURIEscapes", `{"format": "iri"}`, `"urn:a:b"`, `"urn:a:%zz"`, "schema.format", "",
			`"urn:a:%zz" is not a valid iri`,
		},
		{"MinItems", `{"minItems": 1}`, `[1]`, `[]`, "schema.minItems", "", "has 0 items, at least 1 needed"},
		{"MaxItems", `{"maxItems": 1}`, `[1]`, `[1, 2]`, "schema.maxItems", "", "has 2 items, at most 1 allowed"},
		{
			"UniqueItems", `{"uniqueItems": true}`, `[1, 2]`, `[1, 2, 1.0]`, "schema.uniqueItems", "",
			"items 0 and 2 are equal",
		},
		{"Items", `{"items": {"type": "string"}}`, `["a"]`, `["a", 1]`, "schema.type", "/1", "want string, got number"},
		{
			"PrefixItems", `{"prefixItems": [true, {"type": "null"}]}`, `[1, null]`, `[1, 2]`, "schema.type", "/1",
			"want null, got number",
		},
		{
			"ItemsFalse", `{"prefixItems": [true], "items": false}`, `[1]`, `[1, 2]`, "schema.items", "/1",
			"not allowed here",
		},
		{
			"Contains", `{"contains": {"type": "null"}}`, `[null]`, `[1]`,
			"schema.contains", "", `no item matches "contains"`,
		},
		{
			"MinContains", `{"contains": {"type": "null"}, "minContains": 2}`, `[null, null]`, `[null]`,
			"schema.minContains", "", `1 item matches "contains", at least 2 needed`,
		},
		{
			"MaxContains", `{"contains": {"type": "null"}, "maxContains": 1}`, `[null]`, `[null, null]`,
			"schema.maxContains", "", `2 items match "contains", at most 1 allowed`,
		},
		{"Required", `{"required": ["a"]}`, `{"a": 1}`, `{}`, "schema.required", "", "missing property 'a'"},
		{
			"MinProperties", `{"minProperties": 1}`, `{"a": 1}`, `{}`, "schema.minProperties", "",
			"has 0 properties, at least 1 needed",
		},
		{
			"MaxProperties", `{"maxProperties": 0}`, `{}`, `{"a": 1}`, "schema.maxProperties", "",
			"has 1 property, at most 0 allowed",
		},
		{
			"PatternProperties", `{"patternProperties": {"^n": {"type": "number"}}}`, `{"n1": 1}`, `{"n1": "x"}`,
			"schema.type", "/n1", "want number, got string",
		},
		{
			"AdditionalProperties", `{"properties": {"area": true}, "additionalProperties": false}`, `{"area": 1}`,
			`{"xyz": 1}`,
			"schema.additionalProperties", "/xyz", "not allowed",
		},
		{
			"UnevaluatedProperties", `{"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}`,
			`{"a": 1}`, `{"b": 1}`,
			"schema.unevaluatedProperties", "/b", "not allowed here",
		},
		{
			"UnevaluatedItems", `{"prefixItems": [true], "unevaluatedItems": false}`, `[1]`, `[1, 2]`,
			"schema.unevaluatedItems", "/1", "not allowed here",
		},
		{
			"PropertyNames", `{"items": {"propertyNames": {"maxLength": 1}}}`, `[{"a": 1}, {}]`,
			`[{}, {"ab": 1}, {}, {}]`,
			"schema.propertyNames", "/1/ab", `the name "ab" is not allowed here`,
		},
		{
			"DependentRequired", `{"dependentRequired": {"a": ["b"]}}`, `{"a": 1, "b": 2}`, `{"a": 1}`,
			"schema.dependentRequired", "", "property 'a' needs property 'b'",
		},
		{
			"DependentSchemas", `{"dependentSchemas": {"a": {"required": ["c"]}}}`, `{"a": 1, "c": 2}`, `{"a": 1}`,
			"schema.required", "", "missing property 'c'",
		},
		{"AllOf", `{"allOf": [{"minimum": 1}, {"maximum": 3}]}`, `2`, `4`, "schema.maximum", "", "4 is over 3"},
		{
			"AnyOf", `{"anyOf": [{"type": "null"}, {"properties": {"a": {"type": "null"}}, "type": "object"}]}`,
			`null`, `{"a": 1}`,
			"schema.anyOf", "", "matches none of the allowed forms; nearest at /a: want null, got number",
		},
		{
			"AnyOfNumbers", `{"anyOf": [{"maximum": 3}, {"minimum": 9}]}`, `1`, `4`,
			"schema.anyOf", "", "matches none of the allowed forms; nearest: 4 is over 3",
		},
		{
			"NearestFormByType", `{"oneOf": [{"properties": {"type": {"enum": ["Point"]}}},
				{"properties": {"type": {"enum": ["Feature"]}, "geometry": {"oneOf": [{"required": ["type"]}]}},
				"required": ["properties"]}]}`,
			`{"type": "Point"}`, `{"type": "Feature", "geometry": {}}`,
			"schema.oneOf", "", "matches none of the allowed forms; nearest: missing property 'properties'",
		},
		{
			"NearestFormByConst", `{"anyOf": [
				{"properties": {"kind": {"const": "a"}, "v": {"items": {"type": "null"}}}},
				{"properties": {"kind": {"const": "b"}, "v": {"maxItems": 0}}}]}`,
			`{"kind": "a"}`, `{"kind": "b", "v": [1]}`,
			"schema.anyOf", "", "matches none of the allowed forms; nearest at /v: has 1 item, at most 0 allowed",
		},
		{
			"OneOf", `{"oneOf": [{"minimum": 1}, {"minimum": 2}]}`, `1`, `2`,
			"schema.oneOf", "", "matches forms 0 and 1, only one may match",
		},
		{"Not", `{"not": {"type": "null"}}`, `1`, `null`, "schema.not", "", `matches the schema that "not" excludes`},
		{"IfThen", `{"if": {"minimum": 5}, "then": {"maximum": 7}}`, `6`, `8`, "schema.maximum", "", "8 is over 7"},
		{"IfElse", `{"if": {"minimum": 5}, "else": {"minimum": 3}}`, `4`, `2`, "schema.minimum", "", "2 is under 3"},
		{
			"Ref", `{"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}`, `null`, `1`, "schema.type", "",
			"want null, got number",
		},
		{
			"DynamicRef", `{"$ref": "#/$defs/list", "$defs": {"n": {"$dynamicAnchor": "T", "type": "number"},
				"list": {"$id": "list", "items": {"$dynamicRef": "#T"}, "$defs": {"t": {"$dynamicAnchor": "T"}}}}}`,
			`[1]`, `["a"]`, "schema.type", "/0", "want number, got string",
		},
		{
			"MetaSchema", `{"$ref": "https://json-schema.org/draft/2020-12/schema"}`,
			`{"type": "null"}`, `{"minLength": -1}`,
			"schema.minimum", "/minLength", "-1 is under 0",
		},
		{"False", `{"properties": {"a": false}}`, `{}`, `{"a": 1}`, "schema.false", "/a", "not allowed here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindJSONSchema, schemaStep(tt.schema))
			same(t, []brief{}, briefs(run(t, engine, []byte(tt.good), "application/json")))
			report := run(t, engine, []byte(tt.bad), "application/json")
			if len(report.Findings) != 1 {
				t.Fatalf("findings = %+v, want one", report.Findings)
			}
			f := report.Findings[0]
			same(t, []string{tt.code, tt.path, tt.message}, []string{f.Code, f.Path, f.Message})
			if f.Line != 1 || f.Column < 1 || f.Severity != engines.SeverityError {
				t.Errorf("place = %d:%d with %s, want line 1 with ERROR", f.Line, f.Column, f.Severity)
			}
		})
	}
}

func TestSchemaDrafts(t *testing.T) {
	t.Parallel()
	// In draft 4 exclusiveMaximum is a flag, and neither const nor dependentRequired exists.
	const flag = `{"maximum": 5, "exclusiveMaximum": true}`
	tests := []struct {
		name, config, document string
		errors                 int
	}{
		{"Draft4FlagByConfig", `{"draft": "4", "schema": ` + flag + `}`, `5`, 1},
		{"Draft4FlagByItself", `{"schema": {"$schema": "http://json-schema.org/draft-04/schema#",
			"exclusiveMaximum": true, "maximum": 5}}`, `5`, 1},
		{"SchemaWinsOverConfig", `{"draft": "2020-12", "schema": {"$schema": "http://json-schema.org/draft-04/schema#",
			"maximum": 5, "exclusiveMaximum": true}}`, `5`, 1},
		{"Draft4IgnoresConst", `{"draft": "4", "schema": {"const": 1}}`, `2`, 0},
		{"Draft6KnowsConst", `{"draft": "6", "schema": {"const": 1}}`, `2`, 1},
		{"Draft6IgnoresIf", `{"draft": "6", "schema": {"if": true, "then": false}}`, `2`, 0},
		{"Draft7KnowsIf", `{"draft": "7", "schema": {"if": true, "then": false}}`, `2`, 1},
		{
			"Draft7IgnoresDependentRequired", `{"draft": "7", "schema": {"dependentRequired": {"a": ["b"]}}}`,
			`{"a": 1}`, 0,
		},
		{
			"Draft2019KnowsDependentRequired", `{"draft": "2019-09", "schema": {"dependentRequired": {"a": ["b"]}}}`,
			`{"a": 1}`, 1,
		},
		{"Draft2019TakesItemsAsTuple", `{"draft": "2019-09", "schema": {"items": [{"type": "null"}]}}`, `[1]`, 1},
		{"Draft7Dependencies", `{"draft": "7", "schema": {"dependencies": {"a": ["b"]}}}`, `{"a": 1}`, 1},
		{"FormatsAreAsserted2020", `{"draft": "2020-12", "schema": {"format": "ipv4"}}`, `"1.2.3"`, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := run(t, compile(t, engines.KindJSONSchema, tt.config), []byte(tt.document), "application/json")
			if report.Errors != tt.errors {
				t.Errorf("errors = %d, want %d: %+v", report.Errors, tt.errors, report.Findings)
			}
		})
	}
	t.Run("FlagIsNoSchemaOf2020", func(t *testing.T) {
		t.Parallel()
		same(t, "schema.invalid", refused(t, engines.KindJSONSchema, schemaStep(flag)).Code)
	})
}

func TestSchemaConfigurations(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, config, code, pointer string }{
		{"Empty", ``, "config.empty", ""},
		{"NoJSON", `{"schema"`, "config.malformed", "/schema"},
		{"UnknownMember", `{"schema": {}, "drafts": "7"}`, "config.unknown", "/drafts"},
		{"WrongType", `{"schema": {}, "draft": 7}`, "config.type", "/draft"},
		{"NoSchema", `{}`, "schema.missing", "/schema"},
		{"SchemaIsAString", `{"schema": "x"}`, "schema.type", "/schema"},
		{"UnknownDraft", `{"schema": {}, "draft": "5"}`, "schema.draft", "/draft"},
		{
			"UnknownMetaSchema", schemaStep(`{"$schema": "https://other.example/schema"}`), "schema.draft",
			"/schema/$schema",
		},
		{
			"InvalidKeyword", schemaStep(`{"properties": {"a": {"type": "text"}}}`), "schema.invalid",
			"/schema/properties/a/type",
		},
		{"RefToFile", schemaStep(`{"$ref": "file:///etc/hostname"}`), "schema.ref", "/schema/$ref"},
		{
			"RefToNetwork", schemaStep(`{"properties": {"a": {"$ref": "https://127.0.0.1/schema#/b"}}}`), "schema.ref",
			"/schema/properties/a/$ref",
		},
		{"RefToNeighbour", schemaStep(`{"$ref": "other.json"}`), "schema.ref", "/schema/$ref"},
		{"RefToNothing", schemaStep(`{"not": {"$ref": "#/$defs/none"}}`), "schema.ref", "/schema/not/$ref"},
		{"RefToNoAnchor", schemaStep(`{"items": {"$ref": "#none"}}`), "schema.ref", "/schema/items/$ref"},
		{"BrokenPattern", schemaStep(`{"pattern": "(?=a"}`), "schema.invalid", "/schema/pattern"},
		{"TooManyBytes", schemaStep(`{"title": "` + strings.Repeat("x", 1<<20) + `"}`), "schema.too_large", "/schema"},
		{
			"TooManySchemas", schemaStep(`{"allOf": [true` + strings.Repeat(",{}", 100_000) + `]}`),
			"schema.too_large", "/schema",
		},
		{
			"TooDeep", schemaStep(strings.Repeat(`{"not":`, 5000) + "true" + strings.Repeat("}", 5000)),
			"json.depth", "/schema",
		},
		{"HugeNumber", schemaStep(`{"minimum": 1e999999999}`), "json.number_range", "/schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fault := refused(t, engines.KindJSONSchema, tt.config)
			same(t, []string{tt.code, tt.pointer}, []string{fault.Code, fault.Pointer})
			if fault.Detail == "" {
				t.Error("detail is empty, want an explanation")
			}
		})
	}
	t.Run("ReferencesAreNamedAsWritten", func(t *testing.T) {
		t.Parallel()
		fault := refused(t, engines.KindJSONSchema, schemaStep(`{"allOf": [{"$ref": "other.json#/$defs/a"}]}`))
		same(t, "/schema/allOf/0/$ref", fault.Pointer)
		same(t, `the reference "other.json#/$defs/a" leads to a schema that is not in this step: put it under `+
			`"other.json" in "schemas", or collect all files with: simplevalidations workflows bundle`, fault.Detail)
	})
	t.Run("UnknownKind", func(t *testing.T) {
		t.Parallel()
		same(t, "config.kind", refused(t, "magic", `{}`).Code)
	})
}

func TestSchemaNamesEveryMissingAndEverySurplusProperty(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, schemaStep(`{
		"properties": {"heating": {}, "cooling": {}, "a/b": {}}, "required": ["heating", "cooling"],
		"additionalProperties": false}`))
	report := run(t, engine, []byte("{\n  \"coolign\": 1,\n  \"a~b\": 2\n}"), "application/json")
	same(t, []brief{
		{"schema.required", "", 1, 1, 0, "missing property 'cooling'"},
		{"schema.required", "", 1, 1, 0, "missing property 'heating'"},
		{"schema.additionalProperties", "/coolign", 2, 3, 0, "not allowed; did you mean cooling?"},
		{"schema.additionalProperties", "/a~0b", 3, 3, 0, "not allowed; did you mean a/b?"},
	}, briefs(report))
}

func TestSchemaYAML(t *testing.T) {
	t.Parallel()
	const building = `# a building
building: &b
  name: Harbour House
  year_built: 2062   # wrong
  opened: 2026-03-01
  zones:
    - {id: Z1, area_m2: "740"}
    - id: Z2
      area_m2: 0x10
copy: *b
1: one
`
	engine := compile(t, engines.KindJSONSchema, schemaStep(`{
		"$defs": {"building": {
			"properties": {
				"name": {"type": "string"}, "year_built": {"maximum": 2030},
				"opened": {"type": "string", "format": "date"},
				"zones": {"items": {"properties": {"area_m2": {"type": "number"}}}}
			}}},
		"properties": {"building": {"$ref": "#/$defs/building"}, "1": {"type": "string"},
			"copy": {"required": ["owner"]}},
		"additionalProperties": false}`))
	for _, doc := range []engines.Document{
		engines.NewDocument([]byte(building), "application/yaml; charset=utf-8", ""),
		engines.NewDocument([]byte(building), "application/octet-stream", "building.YML"),
		engines.NewDocument([]byte("\ufeff"+building), "text/x-yaml", "b.json"),
	} {
		report, err := engine.Run(t.Context(), doc)
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		same(t, []brief{
			{"schema.maximum", "/building/year_built", 4, 15, 0, "2062 is over 2030"},
			{"schema.type", "/building/zones/0/area_m2", 7, 25, 0, "want number, got string"},
			{"schema.required", "/copy", 10, 7, 0, "missing property 'owner'"},
		}, briefs(report))
		same(t, "  year_built: 2062   # wrong", report.Findings[0].Excerpt)
	}
}

func TestSchemaRunsAtOnce(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, string(sample(t, "schemas/building.schema-step.json")))
	enginetest.RunAtOnce(t, engine, "application/json",
		map[int][]byte{6: sample(t, "bad/building.json"), 0: sample(t, "good/building.json")})
}

func TestSchemaFoldsWhatFailsOften(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, schemaStep(`{"items": {"type": "string"}}`))
	report := run(t, engine, []byte("["+strings.TrimSuffix(strings.Repeat("1,", 5000), ",")+"]"), "application/json")
	if report.Errors != 5000 || !report.Truncated || len(report.Findings) != 101 {
		t.Fatalf("errors = %d, truncated = %t, findings = %d, want 5000, true, 101",
			report.Errors, report.Truncated, len(report.Findings))
	}
	last := report.Findings[100]
	same(t, "/items schema.type failed 5000 times in total; 4900 of the failures are not listed "+
		"individually", last.Message)
	same(t, 5000, last.Count)
	same(t, true, last.Truncated)
}

func TestSchemaCountsWhatItDoesNotDescribe(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindJSONSchema, schemaStep(`{"items": {"type": "string"}}`))
	report := run(t, engine, []byte("["+strings.Repeat("1000000,", 49_999)+"1]"), "application/json")
	same(t, 50_000, report.Errors)
	same(t, 50_000, report.Findings[len(report.Findings)-1].Count)
}
