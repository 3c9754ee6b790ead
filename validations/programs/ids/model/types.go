package model

import (
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// UserDefined is the predefined type of objects whose own type is written as a text.
const UserDefined = "USERDEFINED"

// notDefined is the predefined type of objects that say nothing of it.
const notDefined = "NOTDEFINED"

// HasType says whether an object has a type object of a class.
func (m *Model) HasType(object int, class *ifc.Class) bool {
	for _, e := range m.from(ofType, object) {
		if m.file.At(int(e.to)).Class == class.Number {
			return true
		}
	}
	return false
}

// typeOf returns the type object of an object, or false if it has none.
func (m *Model) typeOf(object int) (int, bool) {
	m.work.Spend(1)
	for _, e := range m.from(ofType, object) {
		return int(e.to), true
	}
	return 0, false
}

// PredefinedTypes are the names that the predefined type of an object goes by. That of its type comes first, unless it
// says nothing.
func (m *Model) PredefinedTypes(object int) []string {
	if above, ok := m.typeOf(object); ok {
		if names := m.ownPredefinedTypes(above); len(names) > 0 && names[0] != notDefined {
			return names
		}
	}
	return m.ownPredefinedTypes(object)
}

func (m *Model) ownPredefinedTypes(object int) []string {
	v := m.named(object, "PredefinedType")
	if v.Kind() != step.Enumeration {
		return nil
	}
	name := v.Text()
	if name != UserDefined {
		return []string{name}
	}
	for _, attribute := range []string{"ObjectType", "ElementType", "ProcessType", "ResourceType"} {
		if own := m.text(object, attribute); own != "" {
			return []string{own, UserDefined}
		}
	}
	return []string{UserDefined}
}
