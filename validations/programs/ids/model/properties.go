package model

import (
	"iter"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// Property is a property or a quantity.
type Property struct {
	Name string
	// Class is for messages.
	Class string
	// Values are all of its values; nil where they cannot be compared.
	Values iter.Seq[Value]
}

// members are the attributes in which sets have their properties.
func members() map[string]string {
	return map[string]string{
		"IFCPROPERTYSET": "HasProperties", "IFCELEMENTQUANTITY": "Quantities", "IFCEXTENDEDPROPERTIES": "Properties",
		"IFCEXTENDEDMATERIALPROPERTIES": "ExtendedProperties",
	}
}

// PropertySets are the sets of properties of an object and then those of its type, with their names.
func (m *Model) PropertySets(object int) iter.Seq2[int, string] {
	sets := [3][]edge{m.from(ofSet, object), m.from(ofExtension, object)}
	if above, ok := m.typeOf(object); ok {
		sets[2] = m.from(ofSet, above)
	}
	return func(yield func(int, string) bool) {
		for _, edges := range sets {
			for _, e := range edges {
				if set := int(e.to); !yield(set, m.text(set, "Name")) {
					return
				}
			}
		}
	}
}

// Properties are those of a set. Sets of other classes have their attributes as properties.
func (m *Model) Properties(set int) iter.Seq[Property] {
	class := m.Class(set)
	for name, attribute := range m.members {
		if class.Is(name) {
			return m.listedProperties(set, class.Find(attribute))
		}
	}
	return m.predefinedProperties(set)
}

func (m *Model) listedProperties(set, attribute int) iter.Seq[Property] {
	return func(yield func(Property) bool) {
		for element := range m.value(set, attribute).Elements() {
			object, ok := m.object(set, element)
			if ok && (!m.work.Spend(costOfLookup) || !yield(m.property(object))) {
				return
			}
		}
	}
}

func (m *Model) predefinedProperties(set int) iter.Seq[Property] {
	class := m.Class(set)
	above := "IFCROOT"
	for _, base := range []string{
		"IFCPREDEFINEDPROPERTYSET", "IFCPROPERTYSETDEFINITION", "IFCMATERIALPROPERTIES", "IFCPROFILEPROPERTIES",
	} {
		if class.Is(base) {
			above = base
			break
		}
	}
	own := class.Own(above)
	return func(yield func(Property) bool) {
		for i, a := range own {
			v := m.value(set, len(class.Attributes)-len(own)+i)
			if v.Empty() || a.Derived {
				continue
			}
			if !m.work.Spend(costOfLookup) || !yield(Property{a.Name, class.Title, m.valuesOf(a, v)}) {
				return
			}
		}
	}
}

// valuesOf are the values of an attribute, several where it is a list.
func (m *Model) valuesOf(a ifc.Attribute, v step.Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != step.List {
			yield(Value{Value: v, of: a.Type})
			return
		}
		for element := range v.Elements() {
			if !yield(Value{Value: element, of: a.Type}) {
				return
			}
		}
	}
}

// valueAttributes are the attributes in which properties have their values, each with that of their unit.
func valueAttributes() map[string][][2]string {
	return map[string][][2]string{
		"IFCPROPERTYSINGLEVALUE":     {{"NominalValue", "Unit"}},
		"IFCPROPERTYENUMERATEDVALUE": {{"EnumerationValues", "EnumerationReference"}},
		"IFCPROPERTYLISTVALUE":       {{"ListValues", "Unit"}},
		"IFCPROPERTYBOUNDEDVALUE": {
			{"UpperBoundValue", "Unit"},
			{"LowerBoundValue", "Unit"},
			{"SetPointValue", "Unit"},
		},
		"IFCPROPERTYTABLEVALUE": {{"DefiningValues", "DefiningUnit"}, {"DefinedValues", "DefinedUnit"}},
	}
}

func (m *Model) property(object int) Property {
	class := m.Class(object)
	p := Property{Name: m.text(object, "Name"), Class: class.Title}
	if attributes, known := m.valueAttributes[class.Name]; known {
		p.Values = m.attributeValues(object, attributes)
		return p
	}
	if class.Is("IFCPHYSICALSIMPLEQUANTITY") {
		if own := class.Own("IFCPHYSICALSIMPLEQUANTITY"); len(own) > 0 {
			p.Values = m.attributeValues(object, [][2]string{{own[0].Name, "Unit"}})
		}
	}
	return p
}

func (m *Model) attributeValues(object int, attributes [][2]string) iter.Seq[Value] {
	class := m.Class(object)
	return func(yield func(Value) bool) {
		for _, names := range attributes {
			place := class.Find(names[0])
			if place < 0 {
				continue
			}
			unit := m.unitOfProperty(object, names[1])
			for v := range m.valuesOf(class.Attributes[place], m.value(object, place)) {
				v.unit = unit
				if !yield(v) {
					return
				}
			}
		}
	}
}

// unitOfProperty is the value that refers to the unit of a property. That of an enumeration is with its values.
func (m *Model) unitOfProperty(object int, attribute string) step.Value {
	unit := m.named(object, attribute)
	if attribute != "EnumerationReference" {
		return unit
	}
	enumeration, ok := m.object(object, unit)
	if !ok {
		return nil
	}
	return m.named(enumeration, "Unit")
}
