package energyplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// bounded is a surface of a zone, or a window or a door in one.
type bounded struct {
	object *model.Object
	// condition is the outside boundary condition in lower case, other the surface or the zone behind it.
	condition string
	other     *model.Field
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
	for _, o := range r.Model.Objects {
		if b := surfaces[model.Fold(o.Label.Text)]; b != nil && b.object == o {
			r.checkBehind(b, surfaces)
		}
		if o.Spec == nil || o.Key != detailedWindow {
			continue
		}
		if base := o.Field(baseSurface); base != nil {
			r.checkSubsurface(o, base, surfaces[model.Fold(base.Text)])
		}
	}
}

// boundedSurfaces are the surfaces with a boundary condition by their names in lower case. What surfaces are made of is
// checked by the way.
func (r *modelRun) boundedSurfaces(polygons map[string]*polygon) map[string]*bounded {
	constructions, multipliers := r.checkConstructions(), r.multipliers()
	surfaces := map[string]*bounded{}
	for o := range r.Model.Known() {
		made := o.Field(madeOf)
		if made == nil {
			continue
		}
		b := &bounded{object: o, other: o.Field(boundaryObject), made: constructions[model.Fold(made.Text)]}
		r.checkUse(b, made)
		condition := o.Field(boundaryCondition)
		if !model.IsSurface(o.Spec) || condition == nil {
			continue
		}
		b.condition = model.Fold(condition.Text)
		if zone := o.Field(model.ZoneName); zone != nil {
			b.multiplier = multipliers[model.Fold(zone.Text)]
		}
		if p := polygons[model.Fold(o.Label.Text)]; p != nil && p.object == o {
			b.polygon = p
		}
		surfaces[model.Fold(o.Label.Text)] = b
	}
	return surfaces
}

// multipliers are those of the zones that have one.
func (r *modelRun) multipliers() map[string]string {
	multipliers := map[string]string{}
	for o := range r.Model.Known(model.ZoneKey) {
		if f := o.Field("multiplier"); f != nil && f.Text != "1" {
			multipliers[model.Fold(o.Label.Text)] = f.Text
		}
	}
	return multipliers
}

// checkUse finds walls made like windows and windows made like walls.
func (r *modelRun) checkUse(b *bounded, made *model.Field) {
	if b.made == nil || b.made.use == unknownUse {
		return
	}
	wanted := opaqueUse
	switch {
	case isGlazed(b.object):
		wanted = windowUse
	case !model.IsSurface(b.object.Spec) && b.object.Field(baseSurface) == nil:
		return
	}
	if b.made.use == wanted {
		return
	}
	message := " is made of opaque materials"
	if wanted == opaqueUse {
		message = " is made of the materials of a window"
	}
	r.Add(model.CheckConstructions, "construction", b.object, made, engine.Quote(made.Text)+message)
}

// isGlazed reports whether a surface is a window or a door of glass.
func isGlazed(o *model.Object) bool {
	if kind := o.Field("surface_type"); kind != nil && o.Key == detailedWindow {
		return model.Fold(kind.Text) != "door"
	}
	return strings.HasPrefix(o.Key, "glazeddoor") || o.Key == "window" || o.Key == "window:interzone"
}

// checkBehind checks what is behind a surface.
func (r *modelRun) checkBehind(b *bounded, surfaces map[string]*bounded) {
	if sun := b.object.Field("sun_exposure"); sun != nil && strings.EqualFold(sun.Text, "SunExposed") &&
		b.condition != toOutdoors && b.condition != "othersideconditionsmodel" {
		r.warnBoundary(b.object, sun, "the sun does not reach a surface that is not outdoors")
	}
	if b.condition != toSurface {
		return
	}
	if b.other == nil || b.other.Text == "" {
		r.warnBoundary(b.object, b.object.Field(boundaryCondition),
			"no other surface is named, so EnergyPlus makes this surface adiabatic")
		return
	}
	other := surfaces[model.Fold(b.other.Text)]
	if other == nil || other == b {
		return
	}
	if fault := b.faultOfOther(other); fault != "" {
		r.findBoundary(b.object, b.other, engine.Quote(b.other.Text)+fault)
		return
	}
	if other.leadsElsewhere(b) {
		r.warnBoundary(b.object, b.other, engine.Quote(b.other.Text)+" names another, "+engine.Quote(other.other.Text))
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
	return b.condition == toSurface && b.other != nil && b.other.Text != "" &&
		!strings.EqualFold(b.other.Text, from.object.Label.Text)
}

// checkPair compares two surfaces that are the two sides of one wall.
func (r *modelRun) checkPair(b, other *bounded) {
	name := engine.Quote(b.other.Text)
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
	made := b.object.Field(madeOf)
	message := engine.Quote(made.Text) + " lacks the layers of the construction of " + name + " in reverse order"
	difference := math.Abs(1/b.made.resistance - 1/other.made.resistance)
	const same = 0.001
	if difference > same {
		r.findBoundary(b.object, made, message)
	} else if difference <= same {
		r.warnBoundary(b.object, made, message)
	}
}

// checkSubsurface checks a window or a door by what is behind its wall.
func (r *modelRun) checkSubsurface(o *model.Object, base *model.Field, wall *bounded) {
	kind := o.Field("surface_type")
	// EnergyPlus takes the ends of a daylight tube for outdoors wherever they are.
	if wall == nil || kind == nil || strings.HasPrefix(model.Fold(kind.Text), "tubular") {
		return
	}
	other := o.Field(boundaryObject)
	named := other != nil && other.Text != ""
	if named && wall.condition == toOutdoors {
		r.warnBoundary(o, other, engine.Quote(base.Text)+" is outdoors, so nothing is behind this")
		return
	}
	message := ""
	if wall.condition != toAdiabatic || !named || !strings.EqualFold(other.Text, o.Label.Text) {
		message = refusal(wall.condition, named, isGlazed(o))
	}
	if message != "" {
		r.findBoundary(o, base, engine.Quote(base.Text)+message)
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

func (r *modelRun) findBoundary(o *model.Object, f *model.Field, message string) {
	r.Add(model.CheckBoundaries, "boundary", o, f, message)
}

func (r *modelRun) warnBoundary(o *model.Object, f *model.Field, message string) {
	r.Add(model.CheckGeometry, "boundary", o, f, message)
}
