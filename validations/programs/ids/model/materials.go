package model

import "iter"

// Materials are those of an object, or those of its type where it has none.
func (m *Model) Materials(object int) []int {
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

// MaterialNames are the names and categories of a material and of what it is made of: layers, profiles, constituents
// and their materials.
func (m *Model) MaterialNames(material int) []string {
	var names []string
	parts := []int{material}
	known := map[int]bool{material: true}
	for i := 0; i < len(parts) && m.work.Spend(1); i++ {
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
func (m *Model) partsOf(material int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for place := range m.Class(material).Attributes {
			for part := range m.objects(material, m.value(material, place)) {
				if m.isMaterial(part) && !yield(part) {
					return
				}
			}
		}
	}
}

// isMaterial says whether an object is a material or a part of one.
func (m *Model) isMaterial(object int) bool {
	class := m.Class(object)
	return class.Is("IFCMATERIALDEFINITION") || class.Is("IFCMATERIAL") || class.Is("IFCMATERIALLAYER") ||
		class.Is("IFCMATERIALLAYERSET") || class.Is("IFCMATERIALLIST") || class.Is("IFCMATERIALUSAGEDEFINITION")
}
