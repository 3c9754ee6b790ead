package model_test

import (
	"slices"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

func TestEveryVersionHasItsDictionary(t *testing.T) {
	t.Parallel()
	for _, version := range model.Versions() {
		d := model.LoadDictionary(version)
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
}
