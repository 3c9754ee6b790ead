package main

import (
	"iter"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

func (f *materialFacet) holds(c *check, object int, as cardinality) bool {
	materials := c.materials(object)
	fits, names := f.find(c, materials)
	switch {
	case fits != (as == prohibited), as == optional && len(materials) == 0:
		return true
	case fits:
		return c.explains && c.fails("has a material%s, which is prohibited", quoteAll(names))
	case len(materials) == 0:
		return c.explains && c.fails("has no material%s", expected(f.value))
	default:
		return c.explains && c.fails("has a material%s; required: %s", quoteAll(names), f.value)
	}
}

// find says whether one of the materials will do, and returns its name, or all of their names.
func (f *materialFacet) find(c *check, materials []int) (bool, []string) {
	if f.value == nil {
		for _, material := range materials {
			return true, c.materialNames(material)
		}
		return false, nil
	}
	var names []string
	for _, material := range materials {
		for _, name := range c.materialNames(material) {
			if f.value.matchesText(c.work, name) {
				return true, []string{name}
			}
			names = append(names, name)
		}
	}
	return false, names
}

// quoteAll are the names of a material for messages.
func quoteAll(names []string) string {
	if len(names) == 0 {
		return " without a name"
	}
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, findings.Quote(name))
	}
	return " named " + listed(quoted)
}

// materials are those of an object, or those of its type where it has none.
func (m *model) materials(object int) []int {
	found := m.from(ofMaterial, object)
	if above, ok := m.typeOf(object); ok && len(found) == 0 {
		found = m.from(ofMaterial, above)
	}
	var materials []int
	for _, e := range found {
		materials = append(materials, int(e.to))
	}
	return materials
}

// materialNames are the names and categories of a material and of what it is made of: layers, profiles, constituents
// and their materials.
func (m *model) materialNames(material int) []string {
	var names []string
	parts := []int{material}
	known := map[int]bool{material: true}
	for i := 0; i < len(parts) && m.work.spend(1); i++ {
		for _, attribute := range []string{"Name", "Category", "LayerSetName"} {
			if name := m.text(parts[i], attribute); name != "" {
				names = append(names, name)
			}
		}
		for part := range m.partsOf(parts[i]) {
			if !known[part] {
				known[part] = true
				parts = append(parts, part)
			}
		}
	}
	return names
}

// partsOf are the materials and parts of materials that one refers to.
func (m *model) partsOf(material int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for place := range m.class(material).Attributes {
			for part := range m.objects(material, m.value(material, place)) {
				if m.isMaterial(part) && !yield(part) {
					return
				}
			}
		}
	}
}

// isMaterial says whether an object is a material or a part of one.
func (m *model) isMaterial(object int) bool {
	class := m.class(object)
	return class.Is("IFCMATERIALDEFINITION") || class.Is("IFCMATERIAL") || class.Is("IFCMATERIALLAYER") ||
		class.Is("IFCMATERIALLAYERSET") || class.Is("IFCMATERIALLIST") || class.Is("IFCMATERIALUSAGEDEFINITION")
}
