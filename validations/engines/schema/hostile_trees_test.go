package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

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
			brief{"json.malformed", "", 1, 3, 0, "a string contains half of a surrogate pair"},
		},
		{
			"HugeNumber", "[1,\n1e400]", "",
			brief{"json.number_range", "", 2, 1, 0, "1e400 is outside the range of numbers"},
		},
		{
			"TinyNumber", "1e-999999999", "",
			brief{"json.number_range", "", 1, 1, 0, "1e-999999999 is outside the range of numbers"},
		},
		{"NotANumber", "[NaN]", "", brief{"json.malformed", "", 1, 2, 0, `"N" is not expected here`}},
		{"NUL", "[1,\x00]", "", brief{"json.malformed", "", 1, 4, 0, "\"\ufffd\" is not expected here"}},
		{"InvalidUTF8", "[\"\xff\"]", "", brief{"json.invalid_utf8", "", 1, 3, 0, "the text is not valid UTF-8"}},
		{"UTF16", "\xff\xfe1\x00", "", brief{"json.invalid_utf8", "", 1, 1, 0, "the text is UTF-16; save it as UTF-8"}},
		{
			"Truncated", "{\n\"a\": [{}, [\n1], 2,\n", "",
			brief{"json.malformed", "", 4, 1, 0, "the document ends too early: [ of line 2 is not closed"},
		},
		{
			"TruncatedString", "{\n\"a\": \"x\n", "",
			brief{"json.malformed", "", 2, 8, 0, "the string is not closed in its line"},
		},
		{
			"TruncatedInString", "{\n\"a\": \"x", "",
			brief{"json.malformed", "", 2, 8, 0, "the document ends too early: the string of line 2 is not closed"},
		},
		{
			"NoComma", "{\n\"a\": 1\n\n\"b\": 2}", "",
			brief{"json.malformed", "", 2, 7, 0, "a comma is missing after line 2"},
		},
		{"NoCommaInLine", `["a" "b"]`, "", brief{"json.malformed", "", 1, 5, 0, "a comma is missing here"}},
		{"LeadingZero", "[-08080]", "", brief{"json.malformed", "", 1, 3, 0, "a number must not begin with 0"}},
		{"Quote", `{"a"": 1}`, "", brief{"json.malformed", "", 1, 5, 0, "a quotation mark is not expected here"}},
		{"Empty", "", "", brief{"json.malformed", "", 1, 1, 0, "the document ends too early"}},
		{
			"TwoDocuments", "{}\n{}", "",
			brief{"json.malformed", "", 2, 1, 0, "there is more text after the end of the document"},
		},
		{"TrailingComma", "[1,]", "", brief{"json.malformed", "", 1, 3, 0, `"," is not expected here`}},
		{
			"TypeIsALie", "\x89PNG\r\n", "application/json",
			brief{"json.malformed", "", 1, 1, 0, "\"\u0089\" is not expected here"},
		},
		{
			"AliasBomb", bomb.String(), "application/yaml",
			brief{
				"yaml.too_large", "", 1, 26, 0,
				"aliases repeat more than 10000 values; a document of this size may repeat no more",
			},
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
			brief{"yaml.number_range", "", 1, 4, 0, `".inf" is not a number that JSON can hold`},
		},
		{
			"YAMLTwoDocuments", "a: 1\n---\nb: 1", "application/yaml",
			brief{"yaml.documents", "", 1, 1, 0, "the file contains more than one document"},
		},
		{
			"YAMLComplexName", "? [a]\n: 1", "application/yaml",
			brief{"yaml.name", "", 1, 3, 0, "a name must be a plain value"},
		},
		{
			"YAMLFlow", "a: 1\nb: [1\nc: }", "application/yaml",
			brief{"yaml.malformed", "", 3, 2, 0, "not valid YAML: did not find expected ',' or ']'"},
		},
		{
			"YAMLIndent", "a: 1\n b: 2\n", "application/yaml",
			brief{"yaml.malformed", "", 2, 3, 0, "not valid YAML: mapping values are not allowed in this context"},
		},
		{
			"YAMLAnchor", "a: 1\nb: *x", "application/yaml",
			brief{"yaml.malformed", "", 2, 4, 0, "not valid YAML: unknown anchor 'x' referenced"},
		},
		{
			"YAMLInvalidUTF8", "a: 1\nb: \xff", "application/yaml",
			brief{"yaml.invalid_utf8", "", 2, 4, 0, "the text is not valid UTF-8, or contains NUL"},
		},
		{
			"YAMLTag", "a: !!int x", "application/yaml",
			brief{"yaml.number_range", "", 1, 4, 0, `"x" is not a number that JSON can hold`},
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
