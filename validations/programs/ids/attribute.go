package main

import (
	"strconv"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
)

func (f *attributeFacet) holds(c *check, object int, as cardinality) bool {
	class := c.Class(object)
	filled := false
	for _, place := range c.attributes[f][class.Number] {
		v, name := c.Attribute(object, place), class.Attributes[place].Name
		switch {
		case v.Empty():
		case !c.IsEmpty(v):
			filled = true
			if !f.accepts(c, v, name, as) {
				return false
			}
		case as == optional:
			return c.explains && c.fails("has the attribute %s with an empty value; required if present: %s",
				name, f.value)
		}
	}
	if as == required && !filled {
		return c.explains && c.fails("has no attribute %s with a value%s", f.name, expected(f.value))
	}
	return true
}

// accepts says whether a value is as the cardinality asks for.
func (f *attributeFacet) accepts(c *check, v model.Value, name string, as cardinality) bool {
	fits := f.value == nil || f.value.matches(c.work, c.scalar(v))
	switch {
	case fits != (as == prohibited):
		return true
	case fits:
		return c.explains && c.fails("has the attribute %s with the value %s, which is prohibited",
			name, written(v.Value))
	default:
		return c.explains && c.fails("has the attribute %s with the value %s%s; required: %s",
			name, written(v.Value), c.convertedNote(v), f.value)
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
func (r *run) convertedNote(v model.Value) string {
	s := r.scalar(v)
	_, inside := v.Typed()
	if number, ok := inside.Number(); !ok || number == s.number {
		return ""
	}
	return " (" + formatNumber(s.number) + " in SI units)"
}

func formatNumber(number float64) string {
	const digits = 10
	return strconv.FormatFloat(number, 'g', digits, 64)
}
