package energyplus

import (
	"math"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// layerGroup is what EnergyPlus takes a material for as a layer of a construction.
type layerGroup byte

const (
	otherLayer layerGroup = iota
	solidLayer
	airLayer
	vegetationLayer
	infraredLayer
	glassLayer
	simpleLayer
	gasLayer
	mixtureLayer
	shadeLayer
	blindLayer
	screenLayer
	// complexLayer is one of windows that follow rules of their own.
	complexLayer
)

// layerGroups are the groups of materials by their classes in lower case.
var layerGroups = map[string]layerGroup{
	"material":                     solidLayer,
	"material:nomass":              solidLayer,
	"material:airgap":              airLayer,
	"material:roofvegetation":      vegetationLayer,
	"material:infraredtransparent": infraredLayer,
	"windowmaterial:glazing":       glassLayer,
	"windowmaterial:glazing:refractionextinctionmethod": glassLayer,
	"windowmaterial:glazinggroup:thermochromic":         glassLayer,
	"windowmaterial:simpleglazingsystem":                simpleLayer,
	"windowmaterial:gas":                                gasLayer,
	"windowmaterial:gasmixture":                         mixtureLayer,
	"windowmaterial:shade":                              shadeLayer,
	"windowmaterial:blind":                              blindLayer,
	"windowmaterial:screen":                             screenLayer,
	"windowmaterial:complexshade":                       complexLayer,
	"windowmaterial:gap":                                complexLayer,
}

func (g layerGroup) isOfWindow() bool { return g >= glassLayer }

func (g layerGroup) isGas() bool { return g == gasLayer || g == mixtureLayer }

func (g layerGroup) isShading() bool { return g == shadeLayer || g == blindLayer || g == screenLayer }

// constructionUse says which surfaces a construction is for.
type constructionUse byte

const (
	unknownUse constructionUse = iota
	opaqueUse
	windowUse
)

// constructionOf is a construction with what its layers are, from the outside to the inside.
type construction struct {
	use    constructionUse
	fields []*model.Field
	names  []string
	groups []layerGroup
	// resistance is the sum of the layers, NaN where one is not known.
	resistance float64
}

// layer is a material that constructions may be made of.
type layer struct {
	group      layerGroup
	resistance float64
}

// constructionUses are those of the classes whose constructions are not given by layers alone.
var constructionUses = map[string]constructionUse{
	"construction:internalsource":           opaqueUse,
	"construction:cfactorundergroundwall":   opaqueUse,
	"construction:ffactorgroundfloor":       opaqueUse,
	"construction:complexfenestrationstate": windowUse,
	"construction:windowequivalentlayer":    windowUse,
	"construction:windowdatafile":           windowUse,
}

// checkConstructions checks the order of layers, and returns the constructions by their names in lower case.
func (r *modelRun) checkConstructions() map[string]*construction {
	materials := r.layers()
	constructions := map[string]*construction{}
	for o := range r.Model.Known() {
		name := model.Fold(o.Label.Text)
		if use := constructionUses[o.Key]; use != unknownUse {
			constructions[name] = &construction{use: use, resistance: math.NaN()}
		}
		if o.Key != "construction" {
			continue
		}
		c, whole := constructionOf(o, materials)
		constructions[name] = c
		if !whole {
			continue
		}
		found := model.Finding{Check: model.CheckConstructions, Code: "construction", Object: o}
		found.Field, found.Message = c.fault()
		if found.Message != "" {
			r.Find(found)
		}
	}
	return constructions
}

// layers are the materials by their names in lower case.
func (r *modelRun) layers() map[string]layer {
	layers := map[string]layer{}
	for o := range r.Model.Known() {
		if group, known := layerGroups[o.Key]; known {
			layers[model.Fold(o.Label.Text)] = layer{group, resistanceOf(o)}
		}
	}
	return layers
}

// resistanceOf is that of a material, NaN where it is not known.
func resistanceOf(o *model.Object) float64 {
	switch o.Key {
	case "material":
		return o.ValueOr("thickness", math.NaN()) / o.ValueOr("conductivity", math.NaN())
	case "material:nomass", "material:airgap":
		return o.ValueOr("thermal_resistance", math.NaN())
	default:
		return math.NaN()
	}
}

// constructionOf reads a Construction. It is not whole where a layer is unknown, which is another finding.
func constructionOf(o *model.Object, materials map[string]layer) (*construction, bool) {
	c := &construction{}
	for i := range o.Fields {
		if f := &o.Fields[i]; f.Spec != nil && f.Text != "" {
			c.fields = append(c.fields, f)
		}
	}
	slices.SortFunc(c.fields, func(a, b *model.Field) int { return a.Index - b.Index })
	for _, f := range c.fields {
		one, known := materials[model.Fold(f.Text)]
		if !known {
			return &construction{}, false
		}
		c.names = append(c.names, model.Fold(f.Text))
		c.groups = append(c.groups, one.group)
		c.resistance += one.resistance
	}
	if len(c.groups) == 0 {
		return c, false
	}
	c.use = opaqueUse
	if slices.ContainsFunc(c.groups, layerGroup.isOfWindow) {
		c.use = windowUse
	}
	return c, true
}

// fault returns what EnergyPlus refuses in the layers, and the layer.
func (c *construction) fault() (*model.Field, string) {
	for i, f := range c.fields {
		if f.Index != i {
			return f, "the layer before this is blank"
		}
	}
	if c.use == windowUse {
		return c.faultOfWindow()
	}
	for i, group := range c.groups {
		switch {
		case group == airLayer && (i == 0 || i == len(c.groups)-1):
			return c.fields[i], "an air gap is the first or the last layer"
		case group == vegetationLayer && i > 0:
			return c.fields[i], "vegetation is not the first layer"
		case group == infraredLayer && len(c.groups) > 1:
			return c.fields[i], "a material transparent to infrared is not the only layer"
		}
	}
	return nil, ""
}

func (c *construction) faultOfWindow() (*model.Field, string) {
	if i := slices.IndexFunc(c.groups, func(g layerGroup) bool { return !g.isOfWindow() }); i >= 0 {
		return c.fields[i], engine.Quote(c.fields[i].Text) + " is opaque, but other layers are those of a window"
	}
	if slices.Contains(c.groups, complexLayer) {
		return nil, ""
	}
	const most = 8
	if len(c.groups) > most {
		return c.fields[most], "a window " + engine.AtMost(len(c.groups), most, "layer", "layers")
	}
	shadings := 0
	for i, group := range c.groups {
		if group.isShading() {
			shadings++
		}
		if fault := c.faultOfLayer(i); fault != "" {
			return c.fields[i], fault
		}
		if shadings > 1 {
			return c.fields[i], "a window has one shade, blind or screen"
		}
	}
	return nil, ""
}

// faultOfLayer says what is wrong with a layer of a window at its place.
func (c *construction) faultOfLayer(i int) string {
	group, last := c.groups[i], len(c.groups)-1
	isEnd := i == 0 || i == last
	switch {
	case group.isGas() && isEnd:
		return "gas is the first or the last layer"
	case group.isShading() && last == 0:
		return "a shade, blind or screen is the only layer"
	case group == screenLayer && i > 0:
		return "a screen is not the first layer"
	case i > 0:
		return c.faultBeside(i, isEnd)
	default:
		return ""
	}
}

// faultBeside compares a layer of a window with those beside it.
func (c *construction) faultBeside(i int, isEnd bool) string {
	group := c.groups[i]
	switch {
	case group == c.groups[i-1]:
		return "two layers of the same kind are beside each other"
	case c.groups[0] == simpleLayer && (group == glassLayer || group == gasLayer):
		return "a simple glazing system has another glass or gas"
	case !group.isShading() || isEnd || c.groups[i-1].isGas() && c.groups[i+1].isGas():
		return ""
	default:
		return "a shade or blind between glass has no gas on both sides"
	}
}

// isKnown reports whether the layers of a construction are known.
func (c *construction) isKnown() bool {
	return c != nil && len(c.names) > 0
}

// mirrors reports whether the layers are those of another construction from the other side.
func (c *construction) mirrors(other *construction) bool {
	reversed := slices.Clone(other.names)
	slices.Reverse(reversed)
	return slices.Equal(c.names, reversed)
}
