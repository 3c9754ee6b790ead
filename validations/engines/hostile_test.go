package engines_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func manyRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "row,%d\n", i+10)
	}
	return b.String()
}

func TestHostileTrees(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a: &a [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n")
	for c := 'b'; c <= 'k'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s*%c]\n", c, c, strings.Repeat("*"+string(c-1)+", ", 9), c-1)
	}
	tests := []struct {
		name, document, mediaType string
		want                      brief
	}{
		{
			"Depth", strings.Repeat("[", 100_000), "",
			brief{"json.depth", "", 1, 201, 0, "nested deeper than 200 levels"},
		},
		{
			"DuplicateName", "{\"a\": 1,\n \"a\": 2}", "",
			brief{"json.duplicate_name", "", 2, 2, 0, `the name "a" occurs twice`},
		},
		{
			"LoneSurrogate", `["\ud800"]`, "",
			brief{"json.malformed", "", 1, 3, 0, "a string holds half of a surrogate pair"},
		},
		{
			"HugeNumber", "[1,\n1e400]", "",
			brief{"json.number_range", "", 2, 1, 0, "1e400 is out of the range of numbers"},
		},
		{
			"TinyNumber", "1e-999999999", "",
			brief{"json.number_range", "", 1, 1, 0, "1e-999999999 is out of the range of numbers"},
		},
		{"NotANumber", "[NaN]", "", brief{"json.malformed", "", 1, 2, 0, `"N" is not expected here`}},
		{"NUL", "[1,\x00]", "", brief{"json.malformed", "", 1, 4, 0, "\"\ufffd\" is not expected here"}},
		{"InvalidUTF8", "[\"\xff\"]", "", brief{"json.invalid_utf8", "", 1, 3, 0, "the text is not valid UTF-8"}},
		{"UTF16", "\xff\xfe1\x00", "", brief{"json.invalid_utf8", "", 1, 1, 0, "the text is UTF-16; save it as UTF-8"}},
		{"Truncated", `{"a": [1,`, "", brief{"json.malformed", "", 1, 10, 0, "the document ends too early"}},
		{"Empty", "", "", brief{"json.malformed", "", 1, 1, 0, "the document ends too early"}},
		{
			"TwoDocuments", "{}\n{}", "",
			brief{"json.malformed", "", 2, 1, 0, "something follows the end of the document"},
		},
		{"TrailingComma", "[1,]", "", brief{"json.malformed", "", 1, 3, 0, `"," is not expected here`}},
		{
			"TypeIsALie", "\x89PNG\r\n", "application/json",
			brief{"json.malformed", "", 1, 1, 0, "\"\u0089\" is not expected here"},
		},
		{
			"AliasBomb", bomb.String(), "application/yaml",
			brief{"yaml.too_large", "", 1, 11, 0, "the document has more than 1000000 values, aliases included"},
		},
		{
			"AliasOfItself", "a: &a [*a]", "application/yaml",
			brief{"yaml.depth", "", 1, 4, 0, "nested deeper than 200 levels"},
		},
		{
			"YAMLDuplicateName", "a: 1\na: 2", "application/yaml",
			brief{"yaml.duplicate_name", "", 2, 1, 0, `the name "a" occurs twice`},
		},
		{
			"YAMLInfinity", "a: .inf", "application/yaml",
			brief{"yaml.number_range", "", 1, 4, 0, `".inf" is no number that JSON can hold`},
		},
		{
			"YAMLTwoDocuments", "a: 1\n---\nb: 1", "application/yaml",
			brief{"yaml.documents", "", 1, 1, 0, "the file holds more than one document"},
		},
		{
			"YAMLComplexName", "? [a]\n: 1", "application/yaml",
			brief{"yaml.name", "", 1, 3, 0, "a name must be a plain value; merge keys are not supported"},
		},
		{
			"YAMLFlow", "a: 1\nb: [1\nc: }", "application/yaml",
			brief{"yaml.malformed", "", 2, 0, 0, "not valid YAML: did not find expected ',' or ']'"},
		},
		{
			"YAMLIndent", "a: 1\n b: 2\n", "application/yaml",
			brief{"yaml.malformed", "", 2, 0, 0, "not valid YAML: mapping values are not allowed in this context"},
		},
		{
			"YAMLAnchor", "a: 1\nb: *x", "application/yaml",
			brief{"yaml.malformed", "", 0, 0, 0, "not valid YAML: unknown anchor 'x' referenced"},
		},
		{
			"YAMLInvalidUTF8", "a: 1\nb: \xff", "application/yaml",
			brief{"yaml.invalid_utf8", "", 2, 4, 0, "the text is not valid UTF-8, or holds NUL"},
		},
		{
			"YAMLTag", "a: !!int x", "application/yaml",
			brief{"yaml.number_range", "", 1, 4, 0, `"x" is no number that JSON can hold`},
		},
		{"YAMLEmpty", "", "application/yaml", brief{"yaml.malformed", "", 1, 1, 0, "the document is empty"}},
	}
	engine := compile(t, engines.KindJSONSchema, `{"schema": {"minimum": 0}}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := run(t, engine, []byte(tt.document), tt.mediaType)
			same(t, []brief{tt.want}, briefs(report))
			same(t, 1, report.Errors)
		})
	}

	t.Run("YAMLDepth", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, []byte(strings.Repeat("[", 9000)+strings.Repeat("]", 9000)), "application/yaml")
		same(t, "yaml.depth", report.Findings[0].Code)
	})

	t.Run("Size", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, make([]byte, 17<<20), "application/json")
		same(t, "json.too_large", report.Findings[0].Code)
	})

	t.Run("YAMLSize", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, make([]byte, 5<<20), "application/yaml")
		same(t, "the document has 5242880 bytes, at most 4194304 are checked", report.Findings[0].Message)
	})

	t.Run("ManyValues", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, []byte("["+strings.Repeat("1,", 1_000_001)+"1]"), "application/json")
		same(t, "json.too_large", report.Findings[0].Code)
	})

	t.Run("YAMLManyValues", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, []byte("["+strings.Repeat("a,", 2_000_001)+"a]"), "application/yaml")
		same(t, []brief{{
			"yaml.too_large", "", 1, 1, 0, "the document has more than 1000000 values, aliases included",
		}}, briefs(report))
	})
}

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
		same(t, []brief{{"schema.ref", "", 1, 1, 0, "the schema refers to itself without end here"}}, briefs(report))
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
					"not evaluated: checking this document by this schema costs too much",
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

func TestHostileTables(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", "type": "string",
		"constraints": {"pattern": "(.{0,500}){0,2}z"}}]}}`)
	tests := []struct {
		name, table string
		want        brief
	}{
		{
			"EndlessQuotedField", "a\nz\n\"" + strings.Repeat("x\n", 5<<20),
			brief{"csv.limit.record", "", 3, 1, 2, "row is longer than 1048576 bytes; is a quote not closed?"},
		},
		{
			"MillionColumns", strings.Repeat("a,", 1_000_000),
			brief{"csv.limit.columns", "", 1, 1, 0, "row has more than 1000 fields; the rest is not read"},
		},
		{
			"CostlyPattern", "a\n" + strings.Repeat("x", 200_000),
			brief{
				"csv.pattern", "a", 2, 1, 1,
				"a was not evaluated: the pattern costs too much on a text of this length",
			},
		},
		{
			"Binary", "\x89PNG\r\n\x1a\n",
			brief{"csv.encoding", "", 1, 1, 0, "the header is not text in the table's encoding"},
		},
		{
			"UTF16", "\xff\xfea\x00\n\x00",
			brief{
				"csv.encoding", "", 1, 1, 0,
				"the header is not text in the table's encoding; it looks like UTF-16, save the table as UTF-8",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{tt.want}, briefs(run(t, engine, []byte(tt.table), "text/csv")))
		})
	}

	t.Run("RowsAndBytes", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxRows, limits.MaxTableBytes = 2, 100
		bounded := compileWithin(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", "type": "string"}]},
			"dataset_rules": [{"id": "all", "assert": "count > 0"}]}`, limits)
		same(t, []brief{
			{"csv.limit.rows", "", 4, 1, 2, "the table has more than 2 rows; the rest is not checked"},
			{"rule.all", "", 0, 0, 0, "not evaluated: the table was not read to its end"},
		}, briefs(run(t, bounded, []byte("a\n1\n2\n3\n4\n"), "text/csv")))
		report := run(t, bounded, []byte(strings.Repeat("a\n", 51)), "text/csv")
		same(t, []brief{
			{"csv.limit.bytes", "", 0, 0, 0, "the table has 102 bytes, at most 100 are checked"},
		}, briefs(report))
	})

	t.Run("RuleThatBurnsTime", func(t *testing.T) {
		t.Parallel()
		burning := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", "type": "string"}]},
			"row_rules": [{"id": "burn",
				"assert": "row.a.matches('(a*)*(b*)*(c*)*$') && row.a.contains(row.a + row.a) || true"}]}`)
		report := run(t, burning, []byte("a\nx\n"+strings.Repeat("a", 1_000_000)+"\n"), "text/csv")
		same(t, []brief{{"rule.burn", "a", 3, 1, 2, "not evaluated: it costs too much"}}, briefs(report))
	})

	t.Run("ContentThatEndsEarlyIsNoPass", func(t *testing.T) {
		t.Parallel()
		for _, step := range []engines.Engine{engine, compile(t, engines.KindJSONSchema, `{"schema": {}}`)} {
			_, err := step.Run(t.Context(), engines.Document{Content: strings.NewReader("a\nz\n"), Size: 10})
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error = %v, want unexpected EOF", err)
			}
		}
	})
}
