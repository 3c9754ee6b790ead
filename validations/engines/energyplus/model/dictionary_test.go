package model_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// fan is a class with every attribute.
func fan(most int) *model.Class {
	return &model.Class{
		Name: "Fan", Unique: true, Required: true, TypeLists: []string{"Types", "Kinds"},
		Label: &model.FieldSpec{Name: "name", Kind: model.Text, Required: true, Gives: []string{"Fans"}},
		Fields: []*model.FieldSpec{
			{
				Name: "rise", Kind: model.Number, Words: []string{"Autosize"}, Units: "Pa", Default: "Autosize",
				Minimum: model.Bound{Value: 0, Exclusive: true, Set: true},
				Maximum: model.Bound{Value: 1e-05, Set: true},
			},
			{Name: "schedule", Kind: model.Text, Refers: []string{"Schedules"}},
			{Name: "speed", Kind: model.Integer, Choices: []string{"1", "2"}},
		},
		Repeated: &model.Group{
			Name: "stages", Least: 1, Most: most,
			Fields: []*model.FieldSpec{{Name: "value", Kind: model.Either, Required: true}},
		},
	}
}

func TestTablesSayWhatWasWritten(t *testing.T) {
	t.Parallel()
	same := &model.Class{Name: "Zone", Fields: []*model.FieldSpec{{Name: "x", Kind: model.Number}}}
	old := model.NewDictionary("8.9", []*model.Class{fan(3), same})
	latest := model.NewDictionary("9.0", []*model.Class{fan(4), same})
	var tables bytes.Buffer
	if err := model.Write(&tables, []*model.Dictionary{old, latest}); err != nil {
		t.Fatalf("write: %v", err)
	}
	for _, want := range []*model.Dictionary{old, latest} {
		got, err := model.ReadDictionary(bytes.NewReader(tables.Bytes()), want.Version)
		if err != nil {
			t.Fatalf("read %s: %v", want.Version, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(model.Dictionary{})); diff != "" {
			t.Errorf("dictionary of %s (-want +got):\n%s", want.Version, diff)
		}
		if got.Class("FAN") != got.Classes[0] || got.Class("Fans") != nil {
			t.Errorf("classes of FAN and Fans = %v, %v, want the first and none", got.Class("FAN"), got.Class("Fans"))
		}
	}
	if _, err := model.ReadDictionary(&tables, "9.1"); !errors.Is(err, model.ErrUnknownVersion) {
		t.Errorf("error = %v, want an unknown version", err)
	}
}

func TestEveryVersionHasItsDictionary(t *testing.T) {
	t.Parallel()
	for _, version := range model.Versions() {
		d, err := model.LoadDictionary(version)
		if err != nil {
			t.Fatalf("load %s: %v", version, err)
		}
		required := []string{}
		for _, class := range d.Classes {
			if class.Required {
				required = append(required, class.Name)
			}
		}
		if want := []string{"Building", "GlobalGeometryRules"}; !slices.Equal(required, want) {
			t.Errorf("required in %s = %q, want %q", version, required, want)
		}
		if got := d.Class("version").Fields[0].Default; got != version {
			t.Errorf("the dictionary of %s is that of %s", version, got)
		}
		vertices := d.Class("BuildingSurface:Detailed").Repeated
		if vertices == nil || len(vertices.Fields) != 3 || !vertices.Fields[0].Required {
			t.Errorf("vertices of %s = %+v, want three coordinates", version, vertices)
		}
	}
	if _, err := model.LoadDictionary("8.8"); !errors.Is(err, model.ErrUnknownVersion) {
		t.Errorf("error = %v, want an unknown version", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := model.LoadDictionary("25.2"); err != nil {
			b.Fatal(err)
		}
	}
}
