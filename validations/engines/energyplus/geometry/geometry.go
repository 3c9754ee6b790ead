// Package geometry checks the surfaces of models: their vertices, the zones that they enclose, what they are made of,
// and what is behind them.
package geometry

import (
	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checker looks for faults in the surfaces of one model.
type checker struct {
	*model.Findings

	// compared are pairs of constructions on the two sides of a wall.
	compared map[[2]*construction]bool
}

// Check adds what is wrong with the surfaces and the zones of a model.
func Check(found *model.Findings) {
	r := &checker{Findings: found, compared: map[[2]*construction]bool{}}
	r.checkZones()
	r.checkSurfaces()
}

// checkZones looks for zones that no surface belongs to. EnergyPlus makes surfaces where one of another zone has the
// boundary condition Zone.
func (r *checker) checkZones() {
	bounded := map[string]bool{}
	for _, o := range r.Model.Objects {
		if !model.IsSurface(o.Spec) {
			continue
		}
		if zone := o.Field(model.ZoneName); zone != nil {
			bounded[model.Fold(zone.Text)] = true
		}
		if other := o.Field(boundaryObject); other != nil {
			bounded[model.Fold(other.Text)] = true
		}
	}
	for _, o := range r.Model.Objects {
		if o.Key == model.ZoneKey && o.Label.Text != "" && !bounded[model.Fold(o.Label.Text)] {
			message := "no surface belongs to the zone " + engine.Quote(o.Label.Text)
			r.Add(model.CheckZoneSurfaces, "zone_without_surfaces", o, nil, message)
		}
	}
}
