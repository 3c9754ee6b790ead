package model

import (
	"slices"
	"strconv"
	"strings"
)

// The classes of zones and spaces, and the field that names a zone.
const (
	ZoneKey  = "zone"
	SpaceKey = "space"
	ZoneName = "zone_name"
)

// IsSurface reports whether objects of a class bound a zone.
func IsSurface(class *Class) bool {
	return class != nil && class.Label != nil && slices.Contains(class.Label.Gives, "SurfaceNames") &&
		FindField(class.Fields, ZoneName) >= 0
}

// Value is the number in a field, and whether there is one.
func (o *Object) Value(name string) (float64, bool) {
	f := o.Field(name)
	if f == nil {
		return 0, false
	}
	return f.Number()
}

// ValueOr is the number in a field, or another one where there is none.
func (o *Object) ValueOr(name string, otherwise float64) float64 {
	if value, isNumber := o.Value(name); isNumber {
		return value
	}
	return otherwise
}

// Text is the text in a field, empty where it is blank or missing.
func (o *Object) Text(name string) string {
	if f := o.Field(name); f != nil {
		return f.Text
	}
	return ""
}

// Is reports whether a field has a text, in any case.
func (o *Object) Is(name, text string) bool {
	return strings.EqualFold(o.Text(name), text)
}

// IsExpression reports whether the value is that of a parametric model, which has expressions in place of values.
func (f *Field) IsExpression() bool {
	return f.Form == WrittenText && f.Text != "" && (f.Text[0] == '=' || f.Text[0] == '$')
}

// Number is the value of a field that has one. As in EnergyPlus a number has only digits, signs, a point and an
// exponent.
func (f *Field) Number() (float64, bool) {
	if f.Form == JSONText || f.Form == JSONOther {
		return 0, false
	}
	return parseNumber(f.Text)
}

// NumberText is a number as a message has it.
func NumberText(value float64) string {
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func parseNumber(text string) (float64, bool) {
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// IsWord reports whether the value is a word that may stand for a number. In an IDF, EnergyPlus takes Autosize and
// Autocalculate for each other.
func (f *Field) IsWord() bool {
	if f.Form != WrittenText {
		return slices.Contains(f.Spec.Words, f.Text)
	}
	return f.IsOneOf(f.Spec.Words) || f.IsOneOf([]string{"Autosize", "Autocalculate"})
}

// IsOneOf compares a value with choices. EnergyPlus ignores case in an IDF, but not in an epJSON.
func (f *Field) IsOneOf(choices []string) bool {
	if f.Form != WrittenText {
		return slices.Contains(choices, f.Text)
	}
	return slices.ContainsFunc(choices, func(choice string) bool { return strings.EqualFold(choice, f.Text) })
}

// HasExpressions reports whether a field holds an expression, so that not all of the object is known.
func (o *Object) HasExpressions() bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool { return f.IsExpression() })
}
