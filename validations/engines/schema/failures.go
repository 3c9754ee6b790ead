package schema

import (
	"reflect"

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
const tooManyFailures = "not evaluated to the end: the document fails the schema so often that the rest is not counted"

// errNotCounted stands for all that is not evaluated any more.
var errNotCounted = &jsonschema.ValidationError{ErrorKind: &kind.Group{}}

// counted evaluates the rules of a schema and counts the memory of the failures that the library keeps of it. A few
// hundred bytes of schema would otherwise let a small document fail millions of times.
type counted struct {
	rules *jsonschema.Schema
	meter *meter
}

// countFailures moves all that a schema demands behind a counter, and returns it. What other schemas refer to is still
// the schema itself.
func countFailures(schema *jsonschema.Schema, m *meter) *jsonschema.Schema {
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
	schema.Extensions = []jsonschema.SchemaExt{&counted{rules: &rules, meter: m}}
	return &rules
}

// Validate evaluates the rules. What failed inside of rules that are satisfied, as an alternative does, is forgotten.
func (c *counted) Validate(ctx *jsonschema.ValidatorContext, v any) {
	if c.meter.stopped {
		ctx.AddErr(errNotCounted)
		return
	}
	before := c.meter.failures
	err := ctx.Validate(c.rules, v, nil)
	if err == nil {
		c.meter.failures = before
		return
	}
	ctx.AddErr(err)
	if failure, ok := err.(*jsonschema.ValidationError); ok { //nolint:errorlint // the library never wraps it
		c.meter.fail(memoryOf(failure, len(ctx.ValueLocation())))
	}
}

// memoryOf is the memory of a failure at the depth, without the failures of the values below.
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
		if len(cause.InstanceLocation) == depth && len(cause.Causes) == 0 {
			total += memoryOf(cause, depth)
		}
	}
	return total
}
