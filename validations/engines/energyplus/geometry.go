package energyplus

import (
	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checkZones looks for zones that no surface belongs to. EnergyPlus makes surfaces where one of another zone has the
// boundary condition Zone.
func (r *modelRun) checkZones() {
	bounded := map[string]bool{}
	for _, o := range r.Model.Objects {
		if !model.IsSurface(o.Spec) {
			continue
		}
		bounded[model.Fold(o.Text(model.ZoneName))] = true
		bounded[model.Fold(o.Text(boundaryObject))] = true
	}
	for _, o := range r.Model.Objects {
		if o.Key == model.ZoneKey && o.Label.Text != "" && !bounded[model.Fold(o.Label.Text)] {
			message := "no surface belongs to the zone " + engine.Quote(o.Label.Text)
			r.Add(model.CheckZoneSurfaces, "zone_without_surfaces", o, nil, message)
		}
	}
}
