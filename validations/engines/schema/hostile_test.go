package schema_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Each of these is refused or answered at once; comparing all names in full, or counting the columns of each finding
// from the beginning of its line, takes minutes.
func TestHostileFailures(t *testing.T) {
	t.Parallel()
	names := func(letter string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%s%05d": true, `, strings.Repeat(letter, 58), i)
		}
		return b.String()
	}

	t.Run("NamesThatAreAlike", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindJSONSchema,
			schemaStep(`{"properties": {`+names("n", 1000)+`"a": true}, "additionalProperties": false}`))
		report := run(t, engine, []byte(`{`+names("m", 60_000)+`"a": 1}`), "application/json")
		same(t, 60_000, report.Errors)
	})

	t.Run("ManyFindingsOnOneLongLine", func(t *testing.T) {
		t.Parallel()
		schema := strings.Repeat(`{"required": ["a"]}, {"required": ["b"]}, `, 400)
		engine := compile(t, engines.KindJSONSchema, schemaStep(`{"prefixItems": [true, `+schema+`true]}`))
		document := `["` + strings.Repeat("é", 7<<20) + `"` + strings.Repeat(", {}", 800) + `]`
		report := run(t, engine, []byte(document), "application/json")
		last := report.Findings[len(report.Findings)-1]
		same(t, 800, report.Errors)
		same(t, (7<<20)+3+2+799*4+1, last.Column)
	})
}

func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	t.Run("RecursiveReference", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindJSONSchema, schemaStep(`{"$ref": "#/$defs/a",
			"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`))
		report := run(t, engine, []byte(`1`), "application/json")
		same(t, []brief{{"schema.ref", "", 1, 1, 0, "the schema refers to itself endlessly here"}}, briefs(report))
	})

	// Every level of the document doubles the work, so without a meter these would take longer than the universe.
	const doubling = `{"$defs": {"n": {%s"allOf": [{"properties": {"a": {%s}}}, {"properties": {"a": {%s}}}]}}, %s}`
	schemas := map[string]string{
		"ByReference": fmt.Sprintf(doubling, ``, `"$ref": "#/$defs/n"`, `"$ref": "#/$defs/n"`, `"$ref": "#/$defs/n"`),
		"ByDynamicReference": fmt.Sprintf(doubling, `"$dynamicAnchor": "n", `,
			`"$dynamicRef": "#n"`, `"$dynamicRef": "#n"`, `"$dynamicRef": "#n"`),
		"ByAnotherAnchor": `{"$ref": "#/$defs/start", "$defs": {
			"evil": {"$dynamicAnchor": "n", "allOf": [{"properties": {"a": {"$ref": "#/$defs/start"}}},
				{"properties": {"a": {"$ref": "#/$defs/start"}}}]},
			"start": {"$id": "start", "$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n"}}}}}`,
	}
	deep := []byte(strings.Repeat(`{"a":`, 150) + "1" + strings.Repeat("}", 150))
	for name, schema := range schemas {
		t.Run("ExponentialWork"+name, func(t *testing.T) {
			t.Parallel()
			limits := engines.DefaultLimits()
			limits.MaxSchemaWork = 1_000_000
			engine := compileWithin(t, engines.KindJSONSchema, schemaStep(schema), limits)
			for range 2 {
				report := run(t, engine, deep, "application/json")
				same(t, []brief{{
					"schema.not_evaluated", "", 0, 0, 0,
					"not evaluated: checking this document against this schema takes too much work",
				}}, briefs(report))
			}
			same(t, 0, run(t, engine, []byte(`{"a": {"a": 1}}`), "application/json").Errors)
		})
	}

	t.Run("DeadlineEndsExponentialWork", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxSchemaWork = 1 << 60
		engine := compileWithin(t, engines.KindJSONSchema, schemaStep(schemas["ByReference"]), limits)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := engine.Run(ctx, engines.NewDocument(deep, "application/json", ""))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline's", err)
		}
	})

	t.Run("CostlyPattern", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindJSONSchema, schemaStep(`{"pattern": "(.{0,500}){0,2}z"}`))
		report := run(t, engine, []byte(`"`+strings.Repeat("a", 200_000)+`"`), "application/json")
		same(t, []brief{{
			"schema.not_evaluated", "", 0, 0, 0,
			"not evaluated: a pattern costs too much on a text of this length",
		}}, briefs(report))
		same(t, "schema.pattern", run(t, engine, []byte(`"b"`), "application/json").Findings[0].Code)
	})

	t.Run("LargestSchemaCompilesInTime", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		for i := range 9990 {
			fmt.Fprintf(&b, `"p%d": {"type": "null"},`, i)
		}
		engine := compile(t, engines.KindJSONSchema, schemaStep(`{"properties": {`+b.String()+`"q": true}}`))
		same(t, 1, run(t, engine, []byte(`{"p7": 1}`), "application/json").Errors)
	})
}

// A small schema makes a document fail far more often than it has values. What is kept of that is bounded.
func TestTooManyFailuresEndTheCheck(t *testing.T) {
	t.Parallel()
	const doubled = `{"allOf": [{"$ref": "#/$defs/%[2]d"}, {"$ref": "#/$defs/%[2]d"}]}, `
	var doubles strings.Builder
	// Each refers twice to the next, which makes 128 failures of the last.
	for i := range 7 {
		fmt.Fprintf(&doubles, `"%[1]d": `+doubled, i, i+1)
	}
	branches := `[` + strings.Repeat(`{"minimum": 5},`, 50) + `{"type": "string"}]`
	each := `{"allOf": ` + branches + `}`
	for name, tt := range map[string]struct{ schema, item string }{
		"OfAllOf":      {`{"items": ` + each + `}`, `1`},
		"OfAnyOf":      {`{"items": {"anyOf": ` + branches + `}}`, `1`},
		"OfOneOf":      {`{"items": {"oneOf": ` + branches + `}}`, `1`},
		"OfReferences": {`{"items": {"$ref": "#/$defs/a"}, "$defs": {"a": ` + each + `}}`, `1`},
		"OfGroups": {`{"items": {"$ref": "#/$defs/a"}, "$defs": {"a": ` +
			strings.ReplaceAll(each, `5`, `5, "multipleOf": 3`) + `}}`, `1`},
		"OfDoubles": {
			`{"items": {"$ref": "#/$defs/0"}, "$defs": {` + doubles.String() + `"7": {"minimum": 5}}}`, `1`,
		},
		"OfMembers":    {`{"items": {"properties": {"a": ` + each + `}}}`, `{"a":1}`},
		"OfPatterns":   {`{"items": {"patternProperties": {"a": ` + each + `}}}`, `{"a":1}`},
		"OfOthers":     {`{"items": {"additionalProperties": ` + each + `}}`, `{"a":1}`},
		"OfFirstItems": {`{"items": {"prefixItems": [` + each + `]}}`, `[1]`},
		"OfContains":   {`{"items": {"contains": ` + each + `}}`, `[1]`},
		"OfTheRest":    {`{"items": {"unevaluatedItems": ` + each + `}}`, `[1]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindJSONSchema, schemaStep(tt.schema))
			document := []byte("[" + strings.Repeat(tt.item+",", 19_999) + tt.item + "]")
			report := run(t, engine, document, "application/json")
			if !slices.ContainsFunc(report.Findings, func(f engines.Finding) bool {
				return f.Code == "schema.not_evaluated"
			}) {
				t.Error("no finding says that the check has ended early")
			}
			if report.Errors < 20 || report.Errors > 25_000 {
				t.Errorf("errors = %d, want those before the end", report.Errors)
			}
			if i := slices.IndexFunc(report.Findings, func(f engines.Finding) bool {
				return f.Code == "schema.format"
			}); i >= 0 {
				t.Errorf("%+v is not a failure of the document", report.Findings[i])
			}
			same(t, 0, run(t, engine, []byte(`[]`), "application/json").Errors)
		})
	}

	t.Run("UnlessTheyAreOfRulesThatAreSatisfied", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindJSONSchema, schemaStep(`{"items": {"if": {"minimum": 5}, "else": true,
			"not": {"minimum": 5}, "anyOf": [{"allOf": [{"type": "string"}]}, {"minimum": 5}, {"maximum": 5}]}}`))
		same(t, 0, run(t, engine, []byte("["+strings.Repeat("1,", 29_999)+"1]"), "application/json").Errors)
	})
}

// Names that are missing are memory, too.
func TestManyMissingMembersEndTheCheck(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&names, `"p%d", `, i)
	}
	engine := compile(t, engines.KindJSONSchema, schemaStep(`{"items": {"required": [`+names.String()+`"q"]}}`))
	report := run(t, engine, []byte("["+strings.Repeat("{},", 9999)+"{}]"), "application/json")
	if report.Errors > 1_000_000 {
		t.Errorf("errors = %d, want those before the end", report.Errors)
	}
}

// What is only counted has the code of what is listed.
func TestUnlistedFailuresHaveTheirCode(t *testing.T) {
	t.Parallel()
	for code, tt := range map[string]struct{ schema, item string }{
		"schema.type":                 {`{"items": {"type": "string"}}`, `1000000`},
		"schema.required":             {`{"items": {"required": ["a"]}}`, `{"bbb": 100000000000}`},
		"schema.additionalProperties": {`{"items": {"additionalProperties": false}}`, `{"bbb": 100000000000}`},
		"schema.items":                {`{"items": {"items": false}}`, `[10000000000000]`},
		"schema.not":                  {`{"items": {"not": {"type": "number"}}}`, `1000000`},
		"schema.anyOf":                {`{"items": {"anyOf": [{"type": "string"}]}}`, `1000000000000`},
		"schema.oneOf":                {`{"items": {"oneOf": [{}, {}]}}`, `1000000`},
		"schema.dependentRequired":    {`{"items": {"dependentRequired": {"b": ["a"]}}}`, `{"b":1000}`},
		"schema.contains":             {`{"items": {"contains": {"type": "string"}}}`, `[10000000000]`},
		"schema.multipleOf":           {`{"items": {"multipleOf": 3}}`, `1000000`},
		"schema.propertyNames":        {`{"items": {"propertyNames": {"pattern": "^a"}}}`, `{"bbb": 100000000000}`},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			const items = 30_000
			engine := compile(t, engines.KindJSONSchema, schemaStep(tt.schema))
			report := run(t, engine, []byte("["+strings.Repeat(tt.item+",", items-1)+tt.item+"]"), "application/json")
			last := report.Findings[len(report.Findings)-1]
			same(t, []any{code, items, items, 101},
				[]any{last.Code, last.Count, report.Errors, len(report.Findings)})
		})
	}
}
