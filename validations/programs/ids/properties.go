package main

import (
	"iter"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// property is a property or a quantity.
type property struct {
	name string
	// form is its class, for messages.
	form string
	// values are all of its values; nil where they cannot be compared.
	values iter.Seq[propertyValue]
}

// propertyValue is a value with its type, where it does not name one itself, and its unit, where it has one.
type propertyValue struct {
	value step.Value
	of    string
	unit  step.Value
}

// typeName is the type of a value in upper case.
func (v propertyValue) typeName() string {
	if name, _ := v.value.Typed(); name != "" {
		return name
	}
	return strings.ToUpper(v.of)
}

// members are the attributes in which sets have their properties.
func members() map[string]string {
	return map[string]string{
		"IFCPROPERTYSET": "HasProperties", "IFCELEMENTQUANTITY": "Quantities", "IFCEXTENDEDPROPERTIES": "Properties",
		"IFCEXTENDEDMATERIALPROPERTIES": "ExtendedProperties",
	}
}

// properties are those of a set. Sets of other classes have their attributes as properties.
func (m *model) properties(set int) iter.Seq[property] {
	class := m.class(set)
	for name, attribute := range m.members {
		if class.Is(name) {
			return m.listedProperties(set, class.Find(attribute))
		}
	}
	return m.predefinedProperties(set)
}

func (m *model) listedProperties(set, attribute int) iter.Seq[property] {
	return func(yield func(property) bool) {
		for element := range m.value(set, attribute).Elements() {
			object, ok := m.object(set, element)
			if ok && !yield(m.property(object)) {
				return
			}
		}
	}
}

func (m *model) predefinedProperties(set int) iter.Seq[property] {
	class := m.class(set)
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
	return func(yield func(property) bool) {
		for i, a := range own {
			v := m.value(set, len(class.Attributes)-len(own)+i)
			if v.Empty() || a.Derived {
				continue
			}
			if !yield(property{a.Name, class.Title, m.valuesOf(a, v)}) {
				return
			}
		}
	}
}

// valuesOf are the values of an attribute, several where it is a list.
func (m *model) valuesOf(a ifc.Attribute, v step.Value) iter.Seq[propertyValue] {
	return func(yield func(propertyValue) bool) {
		if v.Kind() != step.List {
			yield(propertyValue{value: v, of: a.Type})
			return
		}
		for element := range v.Elements() {
			if !yield(propertyValue{value: element, of: a.Type}) {
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

func (m *model) property(object int) property {
	class := m.class(object)
	p := property{name: m.text(object, "Name"), form: class.Title}
	if attributes, known := m.valueAttributes[class.Name]; known {
		p.values = m.attributeValues(object, attributes)
		return p
	}
	if class.Is("IFCPHYSICALSIMPLEQUANTITY") {
		if own := class.Own("IFCPHYSICALSIMPLEQUANTITY"); len(own) > 0 {
			p.values = m.attributeValues(object, [][2]string{{own[0].Name, "Unit"}})
		}
	}
	return p
}

func (m *model) attributeValues(object int, attributes [][2]string) iter.Seq[propertyValue] {
	class := m.class(object)
	return func(yield func(propertyValue) bool) {
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
func (m *model) unitOfProperty(object int, attribute string) step.Value {
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
