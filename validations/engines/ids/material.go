package ids

import (
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/step"
)

func (f *materialFacet) holds(c *check, object int, as cardinality) bool {
	materials := c.materials(object)
	var names []string
	fits := false
	for _, material := range materials {
		if f.value == nil {
			fits = true
			break
		}
		for _, name := range c.materialNames(material) {
			if fits = f.value.matchesText(c.work, name); fits {
				names = []string{name}
				break
			}
			names = append(names, name)
		}
		if fits {
			break
		}
	}
	switch {
	case as == prohibited && fits && f.value == nil:
		return c.explains && c.fails("has a material, which is prohibited")
	case as == prohibited && fits:
		return c.explains && c.fails("has the material %s, which is prohibited", quoteAll(names))
	case fits, as == prohibited, as == optional && len(materials) == 0:
		return true
	case len(materials) == 0:
		return c.explains && c.fails("has no material%s", expected(f.value))
	case len(names) == 0:
		return c.explains && c.fails("has a material without a name, and %s is required", f.value)
	default:
		return c.explains && c.fails("has the material %s, and %s is required", quoteAll(names), f.value)
	}
}

func quoteAll(texts []string) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, engine.Quote(text))
	}
	return listed(quoted)
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
		class := m.class(parts[i])
		for place, a := range class.Attributes {
			v := m.value(parts[i], place)
			switch {
			case slices.Contains([]string{"Name", "Category", "LayerSetName"}, a.Name):
				if _, text := v.Typed(); text.Kind() == step.Text && text.Text() != "" {
					names = append(names, text.Text())
				}
			case v.Kind() == step.Reference || v.Kind() == step.List:
				for part := range m.objects(parts[i], v) {
					if !known[part] && m.isMaterial(part) {
						known[part] = true
						parts = append(parts, part)
					}
				}
			}
		}
	}
	return names
}

// isMaterial says whether an object is a material or a part of one.
func (m *model) isMaterial(object int) bool {
	class := m.class(object)
	return class.Is("IFCMATERIALDEFINITION") || class.Is("IFCMATERIAL") || class.Is("IFCMATERIALLAYER") ||
		class.Is("IFCMATERIALLAYERSET") || class.Is("IFCMATERIALLIST") || class.Is("IFCMATERIALUSAGEDEFINITION")
}
