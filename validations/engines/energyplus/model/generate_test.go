package model_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

var update = flag.Bool("update", false, "write the tables anew")

// schema has one class of each form. Its bounds are written as draft 4 and as draft 7 do.
const schema = `{
	"required": ["Version"],
	"properties": {
		"Version": {
			"maxProperties": 1,
			"patternProperties": {".*": {"properties": {"version_identifier": {"type": "string", "default": "9.3"}}}},
			"legacy_idd": {"fields": ["version_identifier"]}
		},
		"Coil": {
			"patternProperties": {"^.*\\S.*$": {
				"properties": {
					"rate": {
						"note": "prose", "units": "W", "default": "Autosize",
						"anyOf": [
							{"type": "number", "minimum": 0.0, "exclusiveMinimum": true, "maximum": 2},
							{"type": "string", "enum": ["", "Autosize"]}
						]
					},
					"ratio": {"type": "number", "exclusiveMinimum": 0.5, "default": 1.0},
					"fuel": {"type": "string", "enum": ["", "Gas", "Oil"], "object_list": ["Fuels"]},
					"stages": {"type": "array", "minItems": 1, "items": {
						"properties": {"value": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
						"required": ["value"]
					}}
				},
				"required": ["fuel"]
			}},
			"name": {"type": "string", "is_required": true, "reference": ["Coils"], "reference-class-name": ["Types"]},
			"legacy_idd": {
				"fields": ["name", "fuel", "rate", "ratio"], "extensibles": ["value"], "extension": "stages"
			}
		}
	}
}`

func TestConvertSchema(t *testing.T) {
	t.Parallel()
	d, err := convert([]byte(schema))
	if err != nil {
		t.Fatalf("convert: %v", err)
	}
	want := []*model.Class{
		{
			Name: "Coil", TypeLists: []string{"Types"},
			Label: &model.FieldSpec{Name: "name", Kind: model.Text, Required: true, Gives: []string{"Coils"}},
			Fields: []*model.FieldSpec{
				{
					Name: "fuel", Kind: model.Text, Required: true, Choices: []string{"Gas", "Oil"},
					Refers: []string{"Fuels"},
				},
				{
					Name: "rate", Kind: model.Number, Words: []string{"Autosize"}, Units: "W", Default: "Autosize",
					Minimum: model.Bound{Exclusive: true, Set: true},
					Maximum: model.Bound{Value: 2, Set: true},
				},
				{
					Name: "ratio", Kind: model.Number, Default: "1.0",
					Minimum: model.Bound{Value: 0.5, Exclusive: true, Set: true},
				},
			},
			Repeated: &model.Group{
				Name: "stages", Least: 1,
				Fields: []*model.FieldSpec{{Name: "value", Kind: model.Either, Required: true}},
			},
		},
		{
			Name: "Version", Unique: true, Required: true,
			Fields: []*model.FieldSpec{{Name: "version_identifier", Kind: model.Text, Default: "9.3"}},
		},
	}
	if diff := cmp.Diff(want, d.Classes); diff != "" || d.Version != "9.3" {
		t.Errorf("classes of %q (-want +got):\n%s", d.Version, diff)
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, change := range []struct{ old, text, want string }{
		{`"type": "number", "exclusiveMinimum": 0.5`, `"type": "boolean"`, "has the type"},
		{`"fuel", "rate"`, `"fule", "rate"`, "the field fule is missing"},
		{`"default": "9.3"`, `"note": ""`, "does not say its version"},
		{`["name", "fuel"`, `["fuel"`, "the name is not the first field"},
		{`"extension": "stages"`, `"extension": "ratio"`, "ratio is not a list"},
	} {
		_, err := convert([]byte(strings.Replace(schema, change.old, change.text, 1)))
		if err == nil || !strings.Contains(err.Error(), change.want) {
			t.Errorf("error = %v, want one with %q", err, change.want)
		}
	}
}

// TestSchemas compares the tables with the files Energy+.schema.epJSON that ENERGYPLUS_SCHEMAS names, oldest version
// first and separated by spaces, and with -update it writes the tables anew. Every installation of EnergyPlus has the
// file of its version. The facts are kept, the explanations are not.
func TestSchemas(t *testing.T) {
	t.Parallel()
	dictionaries := []*model.Dictionary{}
	for file := range strings.FieldsSeq(os.Getenv("ENERGYPLUS_SCHEMAS")) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := convert(content)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		dictionaries = append(dictionaries, d)
	}
	if len(dictionaries) == 0 {
		return
	}
	var tables bytes.Buffer
	if err := model.Write(&tables, dictionaries); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("tables.gz", tables.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile("tables.gz"); err != nil || !bytes.Equal(kept, tables.Bytes()) {
		t.Errorf("tables.gz does not hold what the schemas say, run with -update: %v", err)
	}
}
