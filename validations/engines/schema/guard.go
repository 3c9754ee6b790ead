package schema

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// contextCheckEvery is how many charges pass between two looks at the context.
const contextCheckEvery = 1024

// patternWorkShare makes work of patterns comparable to evaluations of a keyword, which take longer.
const patternWorkShare = 16

var errStopped = errors.New("the check was stopped")

// meter ends a check that costs too much. The library takes no context, and small schemas exist that take time
// exponential in the depth of the document, so every evaluation of a schema is charged here.
type meter struct {
	limit     int64
	left      int64
	charges   int
	ended     func() error
	stopped   bool
	exhausted string
	// failures is the memory of the failures so far, and overflowed says that it reached maxFailures.
	failures, maxFailures int64
	overflowed            bool
}

// start begins the check of a document of so many bytes.
func (m *meter) start(ended func() error, size int64) {
	*m = meter{limit: m.limit, left: m.limit, ended: ended, maxFailures: max(leastFailureBytes, failuresPerByte*size)}
}

// charge answers whether the check may go on.
func (m *meter) charge(work int64) bool {
	if m.stopped {
		return false
	}
	m.left -= work
	m.charges++
	switch {
	case m.left < 0:
		m.exhaust("not evaluated: checking this document by this schema costs too much")
	case m.charges%contextCheckEvery == 0 && m.ended() != nil:
		m.stopped = true
	}
	return !m.stopped
}

// fail counts the memory of a failure.
func (m *meter) fail(memory int64) {
	m.failures += memory
	if m.failures > m.maxFailures {
		m.stopped, m.overflowed = true, true
	}
}

func (m *meter) exhaust(reason string) {
	m.stopped, m.exhausted = true, reason
}

// meteredPattern is a pattern that charges its work.
type meteredPattern struct {
	pattern engine.Pattern
	meter   *meter
	limit   int64
}

// String returns the source of the pattern.
func (p *meteredPattern) String() string {
	return p.pattern.RE.String()
}

// MatchString answers true for what is too costly to match; the run then ends without a verdict.
func (p *meteredPattern) MatchString(text string) bool {
	if p.meter.ended == nil {
		return p.pattern.RE.MatchString(text)
	}
	work := p.pattern.Work(text)
	if work > p.limit {
		p.meter.exhaust("not evaluated: a pattern costs too much on a text of this length")
		return true
	}
	return !p.meter.charge(work/patternWorkShare) || p.pattern.RE.MatchString(text)
}

// guard makes a schema and all it leads to charge the meter, before its evaluation as a part of its format, and after a
// failed one. Once the meter has stopped nothing more is evaluated, so a run unwinds quickly.
func (s *compiledSchema) guard(root *jsonschema.Schema) {
	for queue := []application{{schema: root}}; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		if next.schema == nil || s.byLocation[next.schema.Location] != nil {
			continue
		}
		same, below := sameValueSchemas(next.schema), belowSchemas(next.schema)
		rules := next.schema
		// The counter around what refers to a schema without parts counts its failures as well.
		if !next.sameValue || hasAny(same) || hasAny(below) {
			rules = countFailures(next.schema, s.meter)
		}
		s.byLocation[rules.Location] = rules
		for _, schema := range same {
			queue = append(queue, application{schema: schema, sameValue: true})
		}
		for _, schema := range below {
			queue = append(queue, application{schema: schema})
		}
		if rules.Bool == nil {
			s.meterSchema(rules, int64(1+len(same)+len(rules.PatternProperties)))
			guardNames(rules)
		}
	}
}

// application is a schema that another one applies, to its own value or to a part of it.
type application struct {
	schema    *jsonschema.Schema
	sameValue bool
}

func hasAny(schemas []*jsonschema.Schema) bool {
	return slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool { return s != nil })
}

func (s *compiledSchema) meterSchema(schema *jsonschema.Schema, weight int64) {
	if schema.Enum != nil {
		weight += int64(len(schema.Enum.Values))
	}
	inner := schema.Format
	guarded := &jsonschema.Format{}
	if inner != nil {
		guarded.Name = inner.Name
	}
	m := s.meter
	guarded.Validate = func(v any) error {
		if !m.charge(weight * extent(v)) {
			return errStopped
		}
		if inner == nil {
			return nil
		}
		return inner.Validate(v)
	}
	schema.Format = guarded
}

// extent is how much of a value one evaluation may touch.
func extent(v any) int64 {
	const charsPerStep = 64
	switch v := v.(type) {
	case map[string]any:
		return int64(1 + len(v))
	case []any:
		return int64(1 + len(v))
	case string:
		return int64(1 + len(v)/charsPerStep)
	default:
		return 1
	}
}

// names replaces the library's check of property names, which reports places that later checks have overwritten.
type names struct {
	schema *jsonschema.Schema
}

func guardNames(schema *jsonschema.Schema) {
	if schema.PropertyNames != nil {
		schema.Extensions = append(schema.Extensions, &names{schema.PropertyNames})
		schema.PropertyNames = nil
	}
}

// Validate checks the names of an object.
func (n *names) Validate(ctx *jsonschema.ValidatorContext, v any) {
	members, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name := range members {
		if err := n.schema.Validate(name); err != nil {
			ctx.AddError(&kind.PropertyNames{Property: name})
		}
	}
}

// sameValueSchemas are the schemas that are applied to the same value.
func sameValueSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	found := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		found = append(found, s.DynamicRef.Ref)
	}
	found = append(append(append(found, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, schema := range s.DependentSchemas {
		found = append(found, schema)
	}
	for _, dependency := range s.Dependencies {
		found = appendSchema(found, dependency)
	}
	return found
}

// belowSchemas are the schemas that are applied to members, items and names.
func belowSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	found := []*jsonschema.Schema{
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	found = append(found, s.PrefixItems...)
	for _, schema := range s.Properties {
		found = append(found, schema)
	}
	for _, schema := range s.PatternProperties {
		found = append(found, schema)
	}
	found = appendSchema(found, s.AdditionalProperties)
	found = appendSchema(found, s.AdditionalItems)
	return appendSchema(found, s.Items)
}

// appendSchema takes the fields that hold a schema, several, or none.
func appendSchema(found []*jsonschema.Schema, field any) []*jsonschema.Schema {
	switch v := field.(type) {
	case *jsonschema.Schema:
		return append(found, v)
	case []*jsonschema.Schema:
		return append(found, v...)
	default:
		return found
	}
}
