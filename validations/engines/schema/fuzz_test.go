package schema_test

import (
	"testing"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// FuzzSchema runs whatever compiles on whatever document: neither may panic, and a document is never an error.
func FuzzSchema(f *testing.F) {
	f.Add(`{"properties": {"a": {"type": "string", "pattern": "^x"}}, "required": ["b"]}`, `{"a": 1}`)
	f.Add(`{"$id": "a", "$dynamicAnchor": "n", "$defs": {"b": {"$id": "b", "$anchor": "c"}}, "$ref": "b#c"}`,
		`[1, "x", null]`)
	f.Add(`{"anyOf": [{"multipleOf": 0.1}, {"uniqueItems": true}], "propertyNames": {"maxLength": 1}}`,
		`{"ab": [1, 1]}`)
	f.Add(`{"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "dependencies": {"a": ["b"]}}`,
		`{"a": -0.0}`)
	f.Add(`{"unevaluatedProperties": false, "if": {"$ref": "#"}, "format": "date-time", "enum": [1e3, {}]}`, `1000`)
	limits := engines.DefaultLimits()
	limits.MaxSchemaWork = 10_000
	f.Fuzz(func(t *testing.T, schema, document string) {
		engine, faults := engines.Compile(engines.KindJSONSchema, []byte(`{"schema": `+schema+`}`), limits)
		if len(faults) > 0 {
			return
		}
		report, err := engine.Run(t.Context(), engines.NewDocument([]byte(document), "", ""))
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		for _, finding := range report.Findings {
			if finding.Code == "schema.failed" || finding.Message == "" || !utf8.ValidString(finding.Message) {
				t.Errorf("finding = %+v, want words of our own", finding)
			}
		}
	})
}
