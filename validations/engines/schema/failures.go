package schema

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// failureBytes is the memory of a failure that the library keeps, and wordBytes that of a part of its place or of a
	// name in it.
	failureBytes = 192
	wordBytes    = 16
	// failuresPerByte bounds the memory of all failures of a document by the size of its text, which its weight in the
	// budget of the process follows from (engines.Weight). leastFailureBytes are allowed in a document of any size.
	failuresPerByte   = 32
	leastFailureBytes = 4 << 20
)

// tooManyFailures ends a check. The failures up to there are reported.
const tooManyFailures = "not fully evaluated: the document violates the schema so often that further failures " +
	"are not counted"

// errNotCounted stands for all that is not evaluated any more.
var errNotCounted = &jsonschema.ValidationError{ErrorKind: &kind.Group{}}

// A few hundred bytes of schema would let a small document fail millions of times. So the memory of failures is counted
// wherever they can multiply: members and items are evaluated here instead of in the library, which costs a valid
// document nothing, and a branch is wrapped. What a schema fails besides, its own keywords bound.

// check is a part of a schema that is evaluated here instead of in the library.
type check func(ctx *jsonschema.ValidatorContext, v any)

// Validate evaluates the part.
func (c check) Validate(ctx *jsonschema.ValidatorContext, v any) { c(ctx, v) }

// countBranch moves all that a schema demands behind a counter, and returns it. What other schemas refer to is still
// the schema itself. A branch is a schema that others apply beside others, as anyOf does, or in a loop of the library.
func countBranch(schema *jsonschema.Schema, m *meter) *jsonschema.Schema {
	rules := *schema
	fields := reflect.ValueOf(schema).Elem()
	for i := range fields.NumField() {
		switch field := fields.Type().Field(i); {
		case !field.IsExported():
		case field.Name == "DraftVersion", field.Name == "Location",
			field.Name == "DynamicAnchor", field.Name == "RecursiveAnchor":
		default:
			fields.Field(i).SetZero()
		}
	}
	schema.Extensions = []jsonschema.SchemaExt{check(func(ctx *jsonschema.ValidatorContext, v any) {
		m.evaluate(ctx, &rules, v)
	})}
	return &rules
}

// members evaluates the members of objects.
type members struct {
	named    map[string]*jsonschema.Schema
	patterns map[jsonschema.Regexp]*jsonschema.Schema
	// others is a schema, false, or nil for all that the others leave.
	others any
	meter  *meter
}

// countMembers takes the evaluation of members over from the library.
func countMembers(schema *jsonschema.Schema, m *meter) {
	if schema.Properties == nil && schema.PatternProperties == nil && schema.AdditionalProperties == nil {
		return
	}
	schema.Extensions = append(schema.Extensions,
		&members{schema.Properties, schema.PatternProperties, schema.AdditionalProperties, m})
	schema.Properties, schema.PatternProperties, schema.AdditionalProperties = nil, nil, nil
}

// Validate evaluates the members of an object.
func (m *members) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	var surplus []string
	for name, value := range object {
		known, more := m.evaluateKnown(ctx, name, value)
		if !known {
			switch others := m.others.(type) {
			case *jsonschema.Schema:
				more = m.meter.evaluate(ctx, others, value, name)
			case bool:
				if !others {
					surplus = append(surplus, name)
				}
			}
		}
		if !more {
			return
		}
		if known || m.others != nil {
			ctx.EvaluatedProp(name)
		}
	}
	if len(surplus) > 0 {
		ctx.AddError(&kind.AdditionalProperties{Properties: surplus})
	}
}

// evaluateKnown reports whether the schema knows the member, and whether the evaluation goes on.
func (m *members) evaluateKnown(ctx *jsonschema.ValidatorContext, name string, value any) (bool, bool) {
	schema, known := m.named[name]
	if known && !m.meter.evaluate(ctx, schema, value, name) {
		return true, false
	}
	for pattern, schema := range m.patterns {
		if !pattern.MatchString(name) {
			continue
		}
		known = true
		if !m.meter.evaluate(ctx, schema, value, name) {
			return true, false
		}
	}
	return known, true
}

// countItems takes the evaluation of items over from the library, except the lists of items of old drafts.
func countItems(schema *jsonschema.Schema, m *meter) {
	// The rest is nil where nothing is demanded of it.
	first, rest := schema.PrefixItems, schema.Items2020
	if all, ok := schema.Items.(*jsonschema.Schema); ok {
		rest = all
		schema.Items, schema.AdditionalItems = nil, nil
	}
	if rest == nil && len(first) == 0 {
		return
	}
	schema.PrefixItems, schema.Items2020 = nil, nil
	schema.Extensions = append(schema.Extensions, check(func(ctx *jsonschema.ValidatorContext, v any) {
		list, _ := v.([]any)
		for at, item := range list {
			applied := rest
			if at < len(first) {
				applied = first[at]
			}
			if applied == nil || !m.evaluate(ctx, applied, item, strconv.Itoa(at)) {
				return
			}
		}
	}))
}

// evaluate counts the memory of what a value fails at a path below that of the context. What failed inside of rules
// that are satisfied, as an alternative does, is forgotten. It answers false where other values need no evaluation.
func (m *meter) evaluate(ctx *jsonschema.ValidatorContext, schema *jsonschema.Schema, v any, path ...string) bool {
	if m.stopped {
		ctx.AddErr(errNotCounted)
		return false
	}
	before := m.failures
	err := ctx.Validate(schema, v, path)
	if err == nil {
		m.failures = before
		return true
	}
	ctx.AddErr(err)
	failure, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // the library never wraps it
	if !ok {
		return false
	}
	m.fail(memoryOf(failure, len(ctx.ValueLocation())+len(path)))
	// A failure without a kind is one of rules of which nothing else is asked than whether they are satisfied.
	return failure.ErrorKind != nil
}

// memoryOf is the memory of a failure at the depth, without the failures of the values below and of branches with
// parts.
func memoryOf(failure *jsonschema.ValidationError, depth int) int64 {
	words := depth
	switch k := failure.ErrorKind.(type) {
	case *kind.Required:
		words += len(k.Missing)
	case *kind.AdditionalProperties:
		words += len(k.Properties)
	case *kind.Dependency:
		words += len(k.Missing)
	case *kind.DependentRequired:
		words += len(k.Missing)
	case *kind.MinContains:
		words += len(k.Got)
	case *kind.MaxContains:
		words += len(k.Got)
	}
	total := failureBytes + int64(words)*wordBytes
	for _, cause := range failure.Causes {
		if len(cause.InstanceLocation) == depth && (groups(failure.ErrorKind) || isFlat(cause)) {
			total += memoryOf(cause, depth)
		}
	}
	return total
}

// groups reports whether a failure is nothing but its causes.
func groups(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Group, *kind.Reference:
		return true
	default:
		return false
	}
}

// isFlat reports whether the causes of a failure have none themselves. Those of branches that do are already counted.
func isFlat(failure *jsonschema.ValidationError) bool {
	return !slices.ContainsFunc(failure.Causes, func(cause *jsonschema.ValidationError) bool {
		return len(cause.Causes) > 0
	})
}
