package energyplus

import (
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const (
	zoneKey  = "zone"
	spaceKey = "space"
	zoneName = "zone_name"
)

// isSurface reports whether objects of a class bound a zone.
func isSurface(class *dictionary.Class) bool {
	return class != nil && class.Label != nil && slices.Contains(class.Label.Gives, "SurfaceNames") &&
		dictionary.Find(class.Fields, zoneName) >= 0
}

// checkZones looks for zones that no surface belongs to. EnergyPlus makes surfaces where one of another zone has the
// boundary condition Zone.
func (r *modelRun) checkZones() {
	bounded := map[string]bool{}
	for _, o := range r.model.objects {
		if !isSurface(o.spec) {
			continue
		}
		if zone := o.field(zoneName); zone != nil {
			bounded[foldName(zone.text)] = true
		}
		if other := o.field(boundaryObject); other != nil {
			bounded[foldName(other.text)] = true
		}
	}
	for _, o := range r.model.objects {
		if o.key == zoneKey && o.label.text != "" && !bounded[foldName(o.label.text)] {
			message := "no surface belongs to the zone " + engine.Quote(o.label.text)
			r.find(modelFinding{check: checkZoneSurfaces, code: "zone_without_surfaces", message: message, object: o})
		}
	}
}
