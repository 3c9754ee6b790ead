package main

import (
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// userDefined is the predefined type of objects whose own type is written as a text.
const userDefined = "USERDEFINED"

// notDefined is the predefined type of objects that say nothing of it.
const notDefined = "NOTDEFINED"

func (f *entityFacet) holds(c *check, object int, _ cardinality) bool {
	if !c.isOfClass(f, object) {
		return c.explains && c.fails("is not of the class %s", f.name)
	}
	if f.predefined == nil {
		return true
	}
	types := c.predefinedTypes(object)
	for _, name := range types {
		if f.predefined.matchesText(c.work, name) {
			return true
		}
	}
	if len(types) == 0 {
		return c.explains && c.fails("has no predefined type; required: %s", f.predefined)
	}
	return c.explains && c.fails("has the predefined type %s; required: %s", types[0], f.predefined)
}

// isOfClass says whether an object is of a class that a facet is for, by its own class or by that of its type.
func (m *model) isOfClass(f *entityFacet, object int) bool {
	set := m.classes[f]
	class := m.file.At(object).Class
	if set.own[class] {
		return true
	}
	if len(set.mapped) == 0 {
		return false
	}
	for _, mapping := range set.mapped {
		if mapping.Occurrence.Number == class && m.hasType(object, mapping.Type) {
			return true
		}
	}
	return false
}

func (m *model) hasType(object int, class *ifc.Class) bool {
	for _, e := range m.from(ofType, object) {
		if m.file.At(int(e.to)).Class == class.Number {
			return true
		}
	}
	return false
}

// typeOf returns the type object of an object, or false if it has none.
func (m *model) typeOf(object int) (int, bool) {
	m.work.spend(1)
	for _, e := range m.from(ofType, object) {
		return int(e.to), true
	}
	return 0, false
}

// predefinedTypes are the names that the predefined type of an object goes by. That of its type comes first, unless it
// says nothing.
func (m *model) predefinedTypes(object int) []string {
	if above, ok := m.typeOf(object); ok {
		if names := m.ownPredefinedTypes(above); len(names) > 0 && names[0] != notDefined {
			return names
		}
	}
	return m.ownPredefinedTypes(object)
}

func (m *model) ownPredefinedTypes(object int) []string {
	v := m.named(object, "PredefinedType")
	if v.Kind() != step.Enumeration {
		return nil
	}
	name := v.Text()
	if name != userDefined {
		return []string{name}
	}
	for _, attribute := range []string{"ObjectType", "ElementType", "ProcessType", "ResourceType"} {
		if own := m.text(object, attribute); own != "" {
			return []string{own, userDefined}
		}
	}
	return []string{userDefined}
}
