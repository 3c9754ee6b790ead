package model

import "slices"

// Classification is one that an object has: its system, and the codes from its own to the most general one.
type Classification struct {
	System string
	Codes  []string
}

// Classifications are those of an object, and those of its type by systems that the object does not use.
func (m *Model) Classifications(object int) []Classification {
	var found []Classification
	for _, e := range m.from(ofClassification, object) {
		found = append(found, m.assigned(int(e.to)))
	}
	above, ok := m.typeOf(object)
	if !ok {
		return found
	}
	own := len(found)
	for _, e := range m.from(ofClassification, above) {
		inherited := m.assigned(int(e.to))
		if !slices.ContainsFunc(found[:own], func(a Classification) bool { return a.System == inherited.System }) {
			found = append(found, inherited)
		}
	}
	return found
}

// maxLevels is how many references lead from an object to its classification system at most.
const maxLevels = 100

// assigned walks from a reference to its system. The name is empty where the way does not lead there.
func (m *Model) assigned(reference int) Classification {
	a := Classification{}
	for range maxLevels {
		if m.Class(reference).Is("IFCCLASSIFICATION") {
			a.System = m.text(reference, "Name")
			return a
		}
		for _, attribute := range []string{"Identification", "ItemReference"} {
			if code := m.text(reference, attribute); code != "" {
				a.Codes = append(a.Codes, code)
			}
		}
		source, ok := m.object(reference, m.named(reference, "ReferencedSource"))
		if !ok {
			return a
		}
		reference = source
	}
	return a
}
