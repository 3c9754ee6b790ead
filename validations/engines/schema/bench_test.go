package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// The failures of a check are counted; a document without any should not pay for it.
func BenchmarkSchemaOfAValidDocument(b *testing.B) {
	for name, tt := range map[string]struct{ schema, item string }{
		"Objects": {
			`{"items": {"type": "object", "required": ["id", "name"], "additionalProperties": false, "properties": {
				"id": {"type": "integer", "minimum": 1}, "name": {"type": "string", "minLength": 1},
				"area": {"$ref": "#/$defs/size"}, "height": {"$ref": "#/$defs/size"},
				"use": {"enum": ["office", "home"]}, "heated": {"type": "boolean"},
				"at": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}},
				"tags": {"type": "array", "items": {"type": "string"}}}},
			"$defs": {"size": {"type": "number", "minimum": 0}}}`,
			`{"id": 1, "name": "a room", "area": 20.5, "height": 2.5, "use": "office", "heated": true,
				"at": {"x": 1, "y": 2}, "tags": ["a", "b"]}`,
		},
		"Numbers": {
			`{"items": {"items": {"type": "number", "minimum": 0}}}`, `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]`,
		},
		"Maps": {
			`{"items": {"additionalProperties": {"type": "number"}}}`,
			`{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10, "k": 11, "l": 12}`,
		},
	} {
		b.Run(name, func(b *testing.B) {
			e, faults := engines.Compile(engines.KindJSONSchema, []byte(schemaStep(tt.schema)), engines.DefaultLimits())
			if len(faults) > 0 {
				b.Fatal(faults)
			}
			text := fmt.Sprintf("[%s%s]", strings.Repeat(tt.item+",", 21_000), tt.item)
			doc := engine.NewDocument([]byte(text), "application/json", "a.json")
			b.ResetTimer()
			for b.Loop() {
				if report, err := e.Run(b.Context(), doc); err != nil || report.Errors > 0 {
					b.Fatal(report, err)
				}
			}
		})
	}
}
