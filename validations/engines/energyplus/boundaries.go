package energyplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// bounded is a surface of a zone, or a window or a door in one.
type bounded struct {
	object *modelObject
	// condition is the outside boundary condition in lower case, other the surface or the zone behind it.
	condition string
	other     *modelField
	polygon   *polygon
	made      *construction
	// multiplier is that of its zone, as it is written.
	multiplier string
}

// The outside boundary conditions that lead to a zone.
const (
	toSurface   = "surface"
	toAdiabatic = "adiabatic"
	toZone      = "zone"
	toOutdoors  = "outdoors"
)

const (
	boundaryCondition = "outside_boundary_condition"
	boundaryObject    = "outside_boundary_condition_object"
	baseSurface       = "building_surface_name"
	madeOf            = "construction_name"
	detailedWindow    = "fenestrationsurface:detailed"
)

// checkBoundaries checks what surfaces are made of and what is behind them.
func (r *modelRun) checkBoundaries(polygons map[string]*polygon) {
	surfaces := r.boundedSurfaces(polygons)
	for _, o := range r.model.objects {
		if b := surfaces[foldName(o.label.text)]; b != nil && b.object == o {
			r.checkBehind(b, surfaces)
		}
		if o.spec == nil || o.key != detailedWindow {
			continue
		}
		if base := o.field(baseSurface); base != nil {
			r.checkSubsurface(o, base, surfaces[foldName(base.text)])
		}
	}
}

// boundedSurfaces are the surfaces with a boundary condition by their names in lower case. What surfaces are made of is
// checked by the way.
func (r *modelRun) boundedSurfaces(polygons map[string]*polygon) map[string]*bounded {
	constructions, multipliers := r.checkConstructions(), r.multipliers()
	surfaces := map[string]*bounded{}
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		made := o.field(madeOf)
		if made == nil {
			continue
		}
		b := &bounded{object: o, other: o.field(boundaryObject), made: constructions[foldName(made.text)]}
		r.checkUse(b, made)
		condition := o.field(boundaryCondition)
		if !isSurface(o.spec) || condition == nil {
			continue
		}
		b.condition = foldName(condition.text)
		if zone := o.field(zoneName); zone != nil {
			b.multiplier = multipliers[foldName(zone.text)]
		}
		if p := polygons[foldName(o.label.text)]; p != nil && p.object == o {
			b.polygon = p
		}
		surfaces[foldName(o.label.text)] = b
	}
	return surfaces
}

// multipliers are those of the zones that have one.
func (r *modelRun) multipliers() map[string]string {
	multipliers := map[string]string{}
	for _, o := range r.model.objects {
		if o.key != zoneKey || o.spec == nil {
			continue
		}
		if f := o.field("multiplier"); f != nil && f.text != "1" {
			multipliers[foldName(o.label.text)] = f.text
		}
	}
	return multipliers
}

// checkUse finds walls made like windows and windows made like walls.
func (r *modelRun) checkUse(b *bounded, made *modelField) {
	if b.made == nil || b.made.use == unknownUse {
		return
	}
	wanted := opaqueUse
	switch {
	case isGlazed(b.object):
		wanted = windowUse
	case !isSurface(b.object.spec) && b.object.field(baseSurface) == nil:
		return
	}
	if b.made.use == wanted {
		return
	}
	message := " is made of opaque materials"
	if wanted == opaqueUse {
		message = " is made of the materials of a window"
	}
	r.find(modelFinding{
		check: checkConstructions, code: "construction", object: b.object, field: made,
		message: engine.Quote(made.text) + message,
	})
}

// isGlazed reports whether a surface is a window or a door of glass.
func isGlazed(o *modelObject) bool {
	if kind := o.field("surface_type"); kind != nil && o.key == detailedWindow {
		return foldName(kind.text) != "door"
	}
	return strings.HasPrefix(o.key, "glazeddoor") || o.key == "window" || o.key == "window:interzone"
}

// checkBehind checks what is behind a surface.
func (r *modelRun) checkBehind(b *bounded, surfaces map[string]*bounded) {
	if sun := b.object.field("sun_exposure"); sun != nil && strings.EqualFold(sun.text, "SunExposed") &&
		b.condition != toOutdoors && b.condition != "othersideconditionsmodel" {
		r.warnBoundary(b.object, sun, "the sun does not reach a surface that is not outdoors")
	}
	if b.condition != toSurface {
		return
	}
	if b.other == nil || b.other.text == "" {
		r.warnBoundary(b.object, b.object.field(boundaryCondition),
			"no other surface is named, so EnergyPlus makes this surface adiabatic")
		return
	}
	other := surfaces[foldName(b.other.text)]
	if other == nil || other == b {
		return
	}
	if fault := b.faultOfOther(other); fault != "" {
		r.findBoundary(b, b.other, engine.Quote(b.other.text)+fault)
		return
	}
	if other.leadsElsewhere(b) {
		r.warnBoundary(b.object, b.other, engine.Quote(b.other.text)+" names another, "+engine.Quote(other.other.text))
		return
	}
	r.checkPair(b, other)
}

// faultOfOther says why EnergyPlus refuses the other side of a surface.
func (b *bounded) faultOfOther(other *bounded) string {
	if other.condition != toSurface && other.condition != toAdiabatic && other.condition != toZone {
		return " has the boundary condition " + engine.Clip(other.condition)
	}
	p, q := b.polygon, other.polygon
	if p == nil || q == nil || len(p.vertices) == len(q.vertices) {
		return ""
	}
	// EnergyPlus leaves out vertices that are no corners before it counts.
	if corners, others := p.corners(), q.corners(); corners != others {
		return fmt.Sprintf(" has %d corners, this surface has %d", others, corners)
	}
	return ""
}

// leadsElsewhere reports whether a surface names another one as its other side.
func (b *bounded) leadsElsewhere(from *bounded) bool {
	return b.condition == toSurface && b.other != nil && b.other.text != "" &&
		!strings.EqualFold(b.other.text, from.object.label.text)
}

// checkPair compares two surfaces that are the two sides of one wall.
func (r *modelRun) checkPair(b, other *bounded) {
	name := engine.Quote(b.other.text)
	if p, q := b.polygon, other.polygon; p != nil && q != nil && b.multiplier == other.multiplier {
		const mostPercent = 2
		areaOf, otherArea := p.normal.length()/2, q.normal.length()/2
		if percent := math.Abs(areaOf-otherArea) / otherArea * 100; percent > mostPercent {
			message := fmt.Sprintf("%s has %.1f m2, this surface has %.1f m2", name, otherArea, areaOf)
			r.warnBoundary(b.object, b.other, message)
		}
	}
	if !b.made.isKnown() || !other.made.isKnown() || b.made.mirrors(other.made) {
		return
	}
	// EnergyPlus says it once for two constructions.
	if r.compared[[2]*construction{b.made, other.made}] {
		return
	}
	r.compared[[2]*construction{b.made, other.made}] = true
	r.compared[[2]*construction{other.made, b.made}] = true
	made := b.object.field(madeOf)
	message := engine.Quote(made.text) + " lacks the layers of the construction of " + name + " in reverse order"
	difference := math.Abs(1/b.made.resistance - 1/other.made.resistance)
	const same = 0.001
	if difference > same {
		r.findBoundary(b, made, message)
	} else if difference <= same {
		r.warnBoundary(b.object, made, message)
	}
}

// checkSubsurface checks a window or a door by what is behind its wall.
func (r *modelRun) checkSubsurface(o *modelObject, base *modelField, wall *bounded) {
	kind := o.field("surface_type")
	// EnergyPlus takes the ends of a daylight tube for outdoors wherever they are.
	if wall == nil || kind == nil || strings.HasPrefix(foldName(kind.text), "tubular") {
		return
	}
	other := o.field(boundaryObject)
	named := other != nil && other.text != ""
	if named && wall.condition == toOutdoors {
		r.warnBoundary(o, other, engine.Quote(base.text)+" is outdoors, so nothing is behind this")
		return
	}
	message := ""
	if wall.condition != toAdiabatic || !named || !strings.EqualFold(other.text, o.label.text) {
		message = refusal(wall.condition, named, isGlazed(o))
	}
	if message != "" {
		message = engine.Quote(base.text) + message
		r.find(modelFinding{check: checkBoundaries, code: "boundary", object: o, field: base, message: message})
	}
}

// refusal says why a wall with a boundary condition takes no window or door.
func refusal(condition string, named, isGlazed bool) string {
	switch condition {
	case toAdiabatic:
		return " is adiabatic and takes no windows or doors"
	case toSurface:
		if !named {
			return " is between zones, so this needs an " + boundaryObject
		}
	case "ground", "foundation", "othersidecoefficients":
		if isGlazed {
			return " has the boundary condition " + condition + ", which takes no windows"
		}
	}
	return ""
}

func (r *modelRun) findBoundary(b *bounded, f *modelField, message string) {
	r.find(modelFinding{check: checkBoundaries, code: "boundary", object: b.object, field: f, message: message})
}

func (r *modelRun) warnBoundary(o *modelObject, f *modelField, message string) {
	r.find(modelFinding{check: checkGeometry, code: "boundary", object: o, field: f, message: message})
}
