package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// firstLeaf is the failure that explains most: that of the form which came nearest, and of several the deepest. What
// fails for certain explains more than another choice of forms.
func firstLeaf(e *jsonschema.ValidationError) leaf {
	for choices(e) > 0 && len(e.Causes) > 0 {
		e = nearestForm(e)
	}
	failures := certain(e)
	best := slices.MinFunc(failures, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(
			cmp.Compare(choices(a), choices(b)),
			cmp.Compare(len(b.InstanceLocation), len(a.InstanceLocation)),
			slices.Compare(a.InstanceLocation, b.InstanceLocation),
			strings.Compare(a.SchemaURL, b.SchemaURL),
		)
	})
	if choices(best) > 0 && len(best.Causes) > 0 {
		return firstLeaf(best)
	}
	described, _ := new(compiledSchema).describe(nil, best, 1)
	return described[0]
}

// choices is 1 for a failure that is a choice of forms.
func choices(e *jsonschema.ValidationError) int {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return 1
	default:
		return 0
	}
}

// certain are the failures that are there whatever form is meant; a choice of forms is one of them.
func certain(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if _, names := e.ErrorKind.(*kind.PropertyNames); names || choices(e) > 0 || len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var found []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		found = append(found, certain(cause)...)
	}
	return found
}

// nearestForm is the form that a value most likely is to have. Types, constants and enumerations tell forms from each
// other: one that they fit is meant, whatever else is wrong with the value.
func nearestForm(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	depth := len(e.InstanceLocation)
	type rank struct{ types, marks, depth int }
	rankOf := func(form *jsonschema.ValidationError) rank {
		var r rank
		for _, failure := range certain(form) {
			r.depth = max(r.depth, len(failure.InstanceLocation))
			switch failure.ErrorKind.(type) {
			case *kind.Type:
				if len(failure.InstanceLocation) == depth {
					r.types++
				}
			case *kind.Const, *kind.Enum:
				if len(failure.InstanceLocation) <= depth+1 {
					r.marks++
				}
			}
		}
		return r
	}
	return slices.MinFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
		x, y := rankOf(a), rankOf(b)
		return cmp.Or(cmp.Compare(x.types, y.types), cmp.Compare(x.marks, y.marks), cmp.Compare(y.depth, x.depth))
	})
}
