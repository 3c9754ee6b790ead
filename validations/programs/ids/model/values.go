package model

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// Value is a value of an object, with what its type and its unit are where it does not say so itself.
type Value struct {
	step.Value

	of   string
	unit step.Value
}

// TypeName is the type of a value in upper case.
func (v Value) TypeName() string {
	if name, _ := v.Typed(); name != "" {
		return name
	}
	return strings.ToUpper(v.of)
}

// Attribute is the value of an attribute by its place.
func (m *Model) Attribute(object, place int) Value {
	return Value{Value: m.value(object, place), of: m.Class(object).Attributes[place].Type}
}

// IsEmpty reports whether a value is missing, an empty text, an empty list, or unknown.
func (m *Model) IsEmpty(v Value) bool {
	return m.isEmpty(v.Value, v.of)
}

func (m *Model) isEmpty(v step.Value, of string) bool {
	if name, inside := v.Typed(); name != "" {
		return m.isEmpty(inside, name)
	}
	switch v.Kind() {
	case step.Missing, step.Null, step.Derived:
		return true
	case step.Text:
		return v.Text() == ""
	case step.List:
		for range v.Elements() {
			return false
		}
		return true
	case step.Enumeration:
		return v.Text() == "U" && m.schema.BaseOf(of) == ifc.BaseLogical
	default:
		return false
	}
}
