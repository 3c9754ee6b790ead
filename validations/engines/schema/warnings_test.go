package schema_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	type doubt struct{ Pointer, Code, Detail string }
	unknown := func(pointer, name, meant string) doubt {
		detail := `"` + name + `" is not a keyword of JSON Schema, so it is ignored`
		if meant != "" {
			detail += "; did you mean " + meant + "?"
		}
		return doubt{pointer, "schema.unknown_keyword", detail}
	}
	for _, tt := range []struct {
		name, config string
		want         []doubt
	}{
		{"Slip", schemaStep(`{"requird": ["site"]}`), []doubt{unknown("/schema/requird", "requird", "required")}},
		{
			"Inside", schemaStep(`{"$defs": {"a": {"minLenght": 1}}, "items": {"anyOf": [{"maxlength": 2}]},
				"properties": {"requird": {"foo": 1}}, "additionalProperties": {"enums": [1]}}`),
			[]doubt{
				unknown("/schema/$defs/a/minLenght", "minLenght", "minLength"),
				unknown("/schema/additionalProperties/enums", "enums", "enum"),
				unknown("/schema/items/anyOf/0/maxlength", "maxlength", "maxLength"),
				unknown("/schema/properties/requird/foo", "foo", ""),
			},
		},
		{
			"ConstInDraft4", schemaStep(`{"$schema": "http://json-schema.org/draft-04/schema#", "properties": {
				"a": {"const": 1, "id": "#x"}}}`),
			[]doubt{{
				"/schema/properties/a/const", "schema.draft_keyword",
				"const is not a keyword of draft 4, so it is ignored; it is one of 6, 7, 2019-09, 2020-12",
			}},
		},
		{
			"DraftOfTheStep", `{"draft": "7", "schema": {"dependentRequired": {"a": ["b"]}, "if": true}}`,
			[]doubt{{
				"/schema/dependentRequired", "schema.draft_keyword",
				"dependentRequired is not a keyword of draft 7, so it is ignored; it is one of 2019-09, 2020-12",
			}},
		},
		{
			"BesideRef", `{"draft": "7", "schema": {"definitions": {"a": {"$id": "#b", "type": "string"}},
				"properties": {"c": {"$ref": "#/definitions/a", "title": "d", "enum": ["e"], "$id": "#f"},
				"$ref": {"type": "null"}}}}`,
			[]doubt{{
				"/schema/properties/c/enum", "schema.draft_keyword",
				"enum stands beside $ref, so draft 7 ignores it; " +
					"put the $ref into an allOf, or use draft 2019-09 or later",
			}},
		},
		{"BesideRefLater", schemaStep(`{"$ref": "#/$defs/a", "enum": [1], "$defs": {"a": {"type": "number"}}}`), nil},
		{
			"OlderKeyword", schemaStep(`{"additionalItems": false}`),
			[]doubt{{
				"/schema/additionalItems", "schema.draft_keyword",
				"additionalItems is not a keyword of draft 2020-12, so it is ignored; it is one of 4, 6, 7, 2019-09",
			}},
		},
		{
			"OtherFiles", `{"schema": {"$ref": "b"}, "schemas": {"b": {"tpye": "null"}, "c": "{\"tpye\": \"null\"}"}}`,
			[]doubt{
				unknown("/schemas/b/tpye", "tpye", "type"),
				{
					"/schemas/c", "schema.unknown_keyword",
					`line 1, column 10: at /tpye: "tpye" is not a keyword of JSON Schema, so it is ignored; ` +
						`did you mean type?`,
				},
			},
		},
		{
			"Annotations", schemaStep(`{"title": "a", "x-order": 1, "markdownDescription": "b", "$comment": "c",
				"nullable": true, "discriminator": {}, "ui:widget": "d", "definitions": {"requird": {}},
				"example": {"a": 1}, "default": {"requird": 1}, "enum": [{"requird": 1}], "_note": 1,
				"contentEncoding": "base64"}`), nil,
		},
		{
			"Containers", schemaStep(`{"$ref": "#/components/schemas/a", "components": {"schemas": {"a": {}}}}`), nil,
		},
		{
			"DialectOfItsOwn", `{"schema": {"$schema": "https://a.example/meta", "indexed": true},
				"schemas": {"https://a.example/meta": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}}`,
			nil,
		},
		{"Refused", schemaStep(`[]`), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := []doubt{}
			for _, w := range engines.Warnings(engines.KindJSONSchema, []byte(tt.config), engines.DefaultLimits()) {
				got = append(got, doubt{w.Pointer, w.Code, w.Detail})
			}
			same(t, append([]doubt{}, tt.want...), got)
			if tt.name != "Refused" {
				compile(t, engines.KindJSONSchema, tt.config)
			}
		})
	}
	t.Run("AreBounded", func(t *testing.T) {
		t.Parallel()
		config := schemaStep(`{"allOf": [{"foo": 1}` + strings.Repeat(`,{"foo": 1}`, 30) + `]}`)
		got := engines.Warnings(engines.KindJSONSchema, []byte(config), engines.DefaultLimits())
		if len(got) != 21 || got[20].Detail != "11 more members check nothing" {
			t.Errorf("warnings = %+v, want 20 and one for the rest", got)
		}
	})
}
