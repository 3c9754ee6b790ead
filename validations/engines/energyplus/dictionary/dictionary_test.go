package dictionary_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
)

// fan is a class with every attribute.
func fan(most int) *dictionary.Class {
	return &dictionary.Class{
		Name: "Fan", Unique: true, Required: true, TypeLists: []string{"Types", "Kinds"},
		Label: &dictionary.Field{Name: "name", Kind: dictionary.Text, Required: true, Gives: []string{"Fans"}},
		Fields: []*dictionary.Field{
			{
				Name: "rise", Kind: dictionary.Number, Words: []string{"Autosize"}, Units: "Pa", Default: "Autosize",
				Minimum: dictionary.Bound{Value: 0, Exclusive: true, Set: true},
				Maximum: dictionary.Bound{Value: 1e-05, Set: true},
			},
			{Name: "schedule", Kind: dictionary.Text, Refers: []string{"Schedules"}},
			{Name: "speed", Kind: dictionary.Integer, Choices: []string{"1", "2"}},
		},
		Repeated: &dictionary.Group{
			Name: "stages", Least: 1, Most: most,
			Fields: []*dictionary.Field{{Name: "value", Kind: dictionary.Either, Required: true}},
		},
	}
}

func TestTablesSayWhatWasWritten(t *testing.T) {
	t.Parallel()
	same := &dictionary.Class{Name: "Zone", Fields: []*dictionary.Field{{Name: "x", Kind: dictionary.Number}}}
	old := dictionary.New("8.9", []*dictionary.Class{fan(3), same})
	latest := dictionary.New("9.0", []*dictionary.Class{fan(4), same})
	var tables bytes.Buffer
	if err := dictionary.Write(&tables, []*dictionary.Dictionary{old, latest}); err != nil {
		t.Fatalf("write: %v", err)
	}
	for _, want := range []*dictionary.Dictionary{old, latest} {
		got, err := dictionary.Read(bytes.NewReader(tables.Bytes()), want.Version)
		if err != nil {
			t.Fatalf("read %s: %v", want.Version, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(dictionary.Dictionary{})); diff != "" {
			t.Errorf("dictionary of %s (-want +got):\n%s", want.Version, diff)
		}
		if got.Class("FAN") != got.Classes[0] || got.Class("Fans") != nil {
			t.Errorf("classes of FAN and Fans = %v, %v, want the first and none", got.Class("FAN"), got.Class("Fans"))
		}
	}
	if _, err := dictionary.Read(&tables, "9.1"); !errors.Is(err, dictionary.ErrUnknownVersion) {
		t.Errorf("error = %v, want an unknown version", err)
	}
}

func TestEveryVersionHasItsDictionary(t *testing.T) {
	t.Parallel()
	for _, version := range dictionary.Versions() {
		d, err := dictionary.Load(version)
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
	if _, err := dictionary.Load("8.8"); !errors.Is(err, dictionary.ErrUnknownVersion) {
		t.Errorf("error = %v, want an unknown version", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := dictionary.Load("25.2"); err != nil {
			b.Fatal(err)
		}
	}
}
