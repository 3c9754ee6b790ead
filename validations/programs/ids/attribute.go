package main

import (
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

func (f *attributeFacet) holds(c *check, object int, as cardinality) bool {
	class := c.class(object)
	filled := false
	for _, place := range c.attributes[f][class.Number] {
		v, a := c.value(object, place), class.Attributes[place]
		switch {
		case v.Empty():
		case !c.isEmpty(v, a.Type):
			filled = true
			if !f.accepts(c, v, a, as) {
				return false
			}
		case as == optional:
			return c.explains && c.fails("has the attribute %s with an empty value; required if present: %s",
				a.Name, f.value)
		}
	}
	if as == required && !filled {
		return c.explains && c.fails("has no attribute %s with a value%s", f.name, expected(f.value))
	}
	return true
}

// accepts says whether a value is as the cardinality asks for.
func (f *attributeFacet) accepts(c *check, v step.Value, a ifc.Attribute, as cardinality) bool {
	fits := f.value == nil || f.value.matches(c.work, c.scalar(v, a.Type, nil))
	switch {
	case fits != (as == prohibited):
		return true
	case fits:
		return c.explains && c.fails("has the attribute %s with the value %s, which is prohibited", a.Name, written(v))
	default:
		return c.explains && c.fails("has the attribute %s with the value %s%s; required: %s",
			a.Name, written(v), c.convertedNote(v, a.Type, nil), f.value)
	}
}

// expected says what is required of a value that is missing.
func expected(value *constraint) string {
	if value == nil {
		return ""
	}
	return "; required: " + value.String()
}

// convertedNote says what a number is in units of SI, where that is another number.
func (m *model) convertedNote(v step.Value, of string, unit step.Value) string {
	s := m.scalar(v, of, unit)
	_, inside := v.Typed()
	if number, ok := inside.Number(); !ok || number == s.number {
		return ""
	}
	return " (" + formatNumber(s.number) + " in SI units)"
}
