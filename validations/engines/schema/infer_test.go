package schema_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/schema"
)

func TestInfer(t *testing.T) {
	t.Parallel()
	text := `{"zones": [{"id": "a", "area": 1}, {"id": "b", "area": 2.5, "note": null}], "year": 1998, "a/b": true}`
	inferred, err := schema.Infer(t.Context(), engines.NewDocument([]byte(text), "application/json", ""),
		engines.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"schema":{"properties":{"a/b":{"type":"boolean"},"year":{"type":"integer"},`+
		`"zones":{"items":{"properties":{"area":{"type":"number"},"id":{"type":"string"},"note":{"type":"null"}},`+
		`"required":["area","id"],"type":"object"},"type":"array"}},`+
		`"required":["a/b","year","zones"],"type":"object"}}`,
		string(inferred.Config))
	const open = "add additionalProperties: false to refuse other members"
	same(t, map[string]string{
		"/schema/type": open, "/schema/properties/zones/items/type": open,
		"/schema/properties/zones/items/properties/area/type": "from 1 to 2.5",
	}, inferred.Notes)
}

// FuzzInfer checks that a sample passes what was inferred from it.
func FuzzInfer(f *testing.F) {
	f.Add(`{"a": [1, 2.5, "x", null, {"b": 1e400}]}`)
	f.Add(`[{"": 1, "a/b": {}}, []]`)
	f.Fuzz(func(t *testing.T, text string) {
		document := engines.NewDocument([]byte(text), "application/json", "")
		inferred, err := schema.Infer(t.Context(), document, engines.DefaultLimits())
		if err != nil {
			return
		}
		engine := compile(t, engines.KindJSONSchema, string(inferred.Config))
		for _, found := range run(t, engine, []byte(text), "application/json").Findings {
			t.Errorf("%q is refused by what was inferred from it, %s: %+v", text, inferred.Config, found)
		}
	})
}
