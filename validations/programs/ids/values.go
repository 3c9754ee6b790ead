package main

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// isEmpty reports whether a value is missing, an empty text, an empty list, or unknown.
func (m *model) isEmpty(v step.Value, of string) bool {
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

// scalar makes a value comparable, in units of SI. The value's own unit takes precedence over that of the model.
func (m *model) scalar(v step.Value, of string, unit step.Value) scalar {
	if name, inside := v.Typed(); name != "" {
		of, v = name, inside
	}
	switch v.Kind() {
	case step.Text:
		return scalar{form: formText, text: v.Text()}
	case step.Number:
		number, ok := v.Number()
		if !ok {
			return scalar{}
		}
		return scalar{form: formNumber, text: string(v), number: m.inSI(number, of, unit)}
	case step.Enumeration:
		return m.enumeration(v.Text(), of)
	default:
		return scalar{}
	}
}

func (m *model) enumeration(text, of string) scalar {
	base := m.schema.BaseOf(of)
	words, isTruth := map[string]string{"T": "true", "F": "false", "U": "unknown"}[text]
	switch {
	case isTruth && base == ifc.BaseLogical:
		return scalar{form: formLogical, text: words}
	case isTruth && base == ifc.BaseBoolean:
		return scalar{form: formBoolean, text: words}
	default:
		return scalar{form: formText, text: text}
	}
}

// written is a value for messages.
func written(v step.Value) string {
	_, v = v.Typed()
	if kind := v.Kind(); kind == step.Text || kind == step.Enumeration {
		return findings.Quote(v.Text())
	}
	return findings.Clip(string(v))
}

// listed are values for messages.
func listed(values []string) string {
	if len(values) > maxListed {
		values = append(values[:maxListed:maxListed], "…")
	}
	return strings.Join(values, ", ")
}
