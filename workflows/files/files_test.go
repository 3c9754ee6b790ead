package files

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/simplevalidations/simplevalidations/validations"
)

const schemaAddress = "http://127.0.0.1:8080" + SchemaPath

// anyText draws texts that are hard on YAML besides ordinary ones.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching("[a-z :#\n\t'\"\\\\-]{0,12}"),
		rapid.SampledFrom([]string{
			"", "~", "null", "yes", "No", "0x1F", "1_000", "1e5", ".inf", "2026-03-01", "<<", "=", "!!str x", "&a",
			"*a", "a: b", "- a", "|", "a\nb\n", "\n", "a\n b", " a\nb ", "a\r\nb", "\u0085", "\u2028", "\ufeff", "\x00",
			"a\u00a0\nb", "{a: 1}", "%YAML 1.2", "---", "...", "a #b", "<p>&amp;</p>", "12:30:45", "\U0001f600\nb",
			"\t\n",
		}),
	)
}

// anyNumber draws literals as JSON writes them.
func anyNumber() *rapid.Generator[json.Number] {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) json.Number { return json.Number(strconv.Itoa(rapid.Int().Draw(t, "int"))) }),
		rapid.Custom(func(t *rapid.T) json.Number {
			number := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float")
			return json.Number(strconv.FormatFloat(number, rapid.SampledFrom([]byte("eEfg")).Draw(t, "form"), -1, 64))
		}),
		rapid.SampledFrom([]json.Number{"-0", "0.10", "1E5", "123456789012345678901234567890", "1.50e+01"}),
	)
}

// anyValue draws what may stand in a JSON Schema where everything is allowed.
func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		anyText().AsAny(), anyNumber().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(anyValue(depth-1), 0, 3).AsAny(),
		rapid.MapOfN(anyText(), anyValue(depth-1), 0, 3).AsAny(),
	)...)
}

func anyFile() *rapid.Generator[File] {
	return rapid.Custom(func(t *rapid.T) File {
		config, err := json.Marshal(map[string]any{"schema": map[string]any{"const": anyValue(3).Draw(t, "const")}})
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.StringMatching("[a-zA-Zä :#\n'\"-]{1,20}")
		return File{
			SchemaVersion: Version, Slug: rapid.StringMatching("[a-z0-9][a-z0-9-]{0,10}").Draw(t, "slug"),
			Name: text.Draw(t, "name"), Description: text.Draw(t, "description"),
			Definition: validations.Definition{
				Accepts: []string{"application/json"},
				Steps: []validations.Step{{
					ID: text.Draw(t, "id"), Name: text.Draw(t, "step"), Type: "json_schema", Config: config,
					ContinueOnFailure: rapid.Bool().Draw(t, "continue"),
				}},
			},
		}
	})
}

func newParser(tb testing.TB) *Parser {
	tb.Helper()
	parser, err := NewParser()
	if err != nil {
		tb.Fatal(err)
	}
	return parser
}

func TestFileRoundTrip(t *testing.T) {
	t.Parallel()
	parser := newParser(t)
	rapid.Check(t, func(rt *rapid.T) {
		file := anyFile().Draw(rt, "file")
		if rapid.Bool().Draw(rt, "looks like a number") {
			file.Slug = rapid.SampledFrom([]string{"1e310", "1e-400", "0x10", "12", "1e3"}).Draw(rt, "slug")
		}
		content, err := file.YAML(schemaAddress)
		if err != nil {
			rt.Fatal(err)
		}
		wantFile(t.Context(), rt, parser, content, file)
	})
}

// wantFile wants a text to be read as the file.
func wantFile(ctx context.Context, tb rapid.TB, parser *Parser, content []byte, file File) {
	tb.Helper()
	read, faults, err := parser.Parse(ctx, content)
	if err != nil || len(faults) > 0 {
		tb.Fatalf("faults = %+v, error = %v, want none in\n%s", faults, err, content)
	}
	_, want, err := file.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	same := read.Slug == file.Slug && read.Name == file.Name && read.Description == file.Description
	if _, got, err := read.Encode(); err != nil || got != want || !same {
		tb.Fatalf("read = %+v, %v, want %+v of\n%s", read, err, file, content)
	}
}

func TestDigestIsOfTheMeaning(t *testing.T) {
	t.Parallel()
	digest := func(config string) validations.Digest {
		_, digest, err := validations.Definition{
			Steps: []validations.Step{{Config: json.RawMessage(config)}},
		}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	want := digest(`{"a<b":"A/\u00e9","n":1.0}`)
	for text, same := range map[string]bool{
		`{ "\u0061\u003cb" : "\u0041\/é", "n": 1.0 }`: true,
		`{"a<b":"A/é","n":1}`:                         false,
	} {
		if got := digest(text); (got == want) != same {
			t.Errorf("digest of %s = %x, want the same as %x: %t", text, got, want, same)
		}
	}
}

// place is what the tests want to know of a fault.
type place struct {
	Pointer, Code string
	Line, Column  int
}

func TestParseFileFaults(t *testing.T) {
	t.Parallel()
	parser := newParser(t)
	const head = "schema_version: 1\nslug: site-report\nname: Site report\naccepts: [application/json]\n"
	const step = head + "steps:\n  - id: shape\n    name: Shape\n    type: json_schema\n    config:\n"
	for name, tt := range map[string]struct {
		content string
		want    []place
	}{
		"Good": {step + "      schema: {type: object}\n", nil},
		"JSON": {`{"schema_version":1,"slug":"a","name":"A","accepts":["a/b"],"steps":[]}`, nil},
		"Alias": {
			strings.Replace(step, "type: json_schema", "type: &kind json_schema", 1) +
				"      schema: {const: *kind}\n",
			nil,
		},
		"Empty":     {"", []place{{"", "yaml.malformed", 1, 1}}},
		"Malformed": {head + "steps: [\n", []place{{"", "yaml.malformed", 6, 1}}},
		"NotAnObject": {
			"- a\n", []place{{"", "schema.type", 1, 1}},
		},
		"BehindEachOther": {
			head + "steps:\n  - id: t\n    name: T\n    type: table\n    config:\n      schema:\n        fields:\n" +
				"          - name: a\n            type: datetim\n            constraints: {minimun: 1}\n" +
				"      dialekt: {}\n",
			[]place{
				{"/steps/0/config/schema/fields/0/type", "schema.type", 13, 19},
				{"/steps/0/config/schema/fields/0/constraints/minimun", "config.unknown", 14, 36},
				{"/steps/0/config/dialekt", "config.unknown", 15, 16},
			},
		},
		"BehindTheForm": {
			head + "descriptiom: x\nsteps:\n  - id: t\n    name: T\n    type: table\n    config: {schema: {}}\n",
			[]place{
				{"/descriptiom", "schema.additionalProperties", 5, 1},
				{"/steps/0/config/schema/fields", "schema.fields", 10, 22},
			},
		},
		"Missing": {
			strings.Replace(head, "name: Site report\n", "", 1) + "steps: []\n", []place{{"", "schema.required", 1, 1}},
		},
		"Misspelt": {
			head + "steps: []\ndescriptiom: x\n", []place{{"/descriptiom", "schema.additionalProperties", 6, 1}},
		},
		"OtherVersion": {
			strings.Replace(head, "1", "2", 1) + "steps: []\n", []place{{"/schema_version", "schema.const", 1, 17}},
		},
		"Duplicate": {head + "name: B\nsteps: []\n", []place{{"", "yaml.duplicate_name", 5, 1}}},
		"SlugIsID": {
			strings.Replace(head, "site-report", "0199e09f-1c2d-7e3f-9a4b-5c6d7e8f9a0b", 1) + "steps: []\n",
			[]place{{"/slug", "slug", 2, 7}},
		},
		"SameIDTwice": {
			step + "      schema: {}\n  - id: shape\n    name: B\n    type: json_schema\n    config: {schema: {}}\n",
			[]place{{"/steps/1/id", "unique", 11, 9}},
		},
		"UnknownType": {
			strings.Replace(step, "json_schema", "magic", 1) + "      schema: {}\n",
			[]place{{"/steps/0/type", "config.kind", 8, 11}},
		},
		"Media": {
			strings.Replace(head, "application/json", "Text/CSV", 1) + "steps: []\n",
			[]place{{"/accepts/0", "media_type", 4, 11}},
		},
		"Config": {
			step + "      schema: {type: object, minimum: low}\n",
			[]place{{"/steps/0/config/schema/minimum", "schema.invalid", 10, 39}},
		},
		"NUL": {
			strings.Replace(head, "Site report", `"a\0b"`, 1) + "steps: []\n", []place{{"/name", "excludesrune", 3, 7}},
		},
		"Merge":     {"a: 1\n<<: 1\n", []place{{"", "yaml.merge", 2, 5}}},
		"Documents": {head + "steps: []\n---\na: 1\n", []place{{"", "yaml.documents", 1, 1}}},
		"AliasBomb": {bomb(), []place{{"", "yaml.too_large", 1, 28}}},
		"LongAlias": {
			"a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a, ", 1000) + "]\n",
			[]place{{"", "yaml.malformed", 0, 0}},
		},
		"Deep":     {strings.Repeat("[", 300) + strings.Repeat("]", 300), []place{{"", "yaml.depth", 1, 202}}},
		"TooLarge": {"a: " + strings.Repeat("x", MaxBytes), []place{{"", "yaml.too_large", 0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults, err := parser.Parse(t.Context(), []byte(tt.content))
			if err != nil {
				t.Fatal(err)
			}
			var got []place
			for _, fault := range faults {
				got = append(got, place{fault.Pointer, fault.Code, fault.Line, fault.Column})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s\n%+v", diff, faults)
			}
		})
	}
}

// bomb is ten lists of ten aliases each, which multiply.
func bomb() string {
	var text strings.Builder
	text.WriteString("a0: &a0 [" + strings.Repeat("x, ", 10) + "]\n")
	for i := range 9 {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	return text.String()
}
