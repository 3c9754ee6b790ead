package main

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// scalar makes a value comparable, in units of SI. The value's own unit takes precedence over that of the model.
func (r *run) scalar(v model.Value) scalar {
	_, inside := v.Typed()
	switch inside.Kind() {
	case step.Text:
		return scalar{form: formText, text: inside.Text()}
	case step.Number:
		number, ok := r.InSI(v)
		if !ok {
			return scalar{}
		}
		return scalar{form: formNumber, text: string(inside), number: number}
	case step.Enumeration:
		return r.enumeration(inside.Text(), v.TypeName())
	default:
		return scalar{}
	}
}

func (r *run) enumeration(text, of string) scalar {
	base := r.schema.BaseOf(of)
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
