package schema

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// contextCheckEvery is how many charges pass between two looks at the context.
const contextCheckEvery = 1024

// patternWorkShare makes work of patterns comparable to evaluations of a keyword, which take longer.
const patternWorkShare = 16

const patternTooCostly = "not evaluated: a pattern costs too much on a text of this length"

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
	// failed is why there is no verdict.
	failed error
	// failures is the memory of the failures so far, and overflowed says that it reached maxFailures.
	failures, maxFailures int64
	overflowed            bool
}

// start begins the check of a document of so many bytes.
func (m *meter) start(ended func() error, size int64) {
	*m = meter{limit: m.limit, left: m.limit, ended: ended, maxFailures: max(leastFailureBytes, failuresPerByte*size)}
}

// charge reports whether the check may go on.
func (m *meter) charge(work int64) bool {
	if m.stopped {
		return false
	}
	m.left -= work
	m.charges++
	switch {
	case m.left < 0:
		m.exhaust("not evaluated: checking this document against this schema takes too much work")
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
	pattern *engine.ECMAPattern
	meter   *meter
	limits  engine.Limits
}

// String returns the source of the pattern.
func (p *meteredPattern) String() string {
	return p.pattern.String()
}

// MatchString answers true for what is too costly to match; the run then ends without a verdict.
func (p *meteredPattern) MatchString(text string) bool {
	linear := p.pattern.Linear
	if linear == nil {
		return p.search(text)
	}
	if p.meter.ended == nil {
		return linear.RE.MatchString(text)
	}
	work := linear.Work(text)
	if work > p.limits.MaxPatternWork {
		p.meter.exhaust(patternTooCostly)
		return true
	}
	return !p.meter.charge(work/patternWorkShare) || linear.RE.MatchString(text)
}

// search looks at the context each time, because how long it takes is not known in advance.
func (p *meteredPattern) search(text string) bool {
	m := p.meter
	if m.ended != nil && (!m.charge(1+int64(len(text))/patternWorkShare) || m.ended() != nil) {
		m.stopped = true
		return true
	}
	found, err := p.pattern.Match(text)
	if err != nil {
		m.stopped, m.failed = true, err
	}
	return found || err != nil
}

// guard makes schemas and all they lead to charge the meter, before their evaluation as a part of their format, and for
// what they fail. Once the meter has stopped nothing more is evaluated, so a run unwinds quickly.
func (s *compiledSchema) guard(roots []*jsonschema.Schema) {
	branches := map[*jsonschema.Schema]bool{}
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		schema := queue[0]
		if schema == nil || s.byLocation[schema.Location] != nil {
			continue
		}
		s.byLocation[schema.Location] = schema
		for _, looped := range loopedSchemas(schema) {
			branches[looped] = true
		}
		for _, applied := range branchSchemas(schema) {
			// What refers to a branch without parts counts its failures as its own.
			branches[applied] = applied != nil && (branches[applied] || slices.ContainsFunc(partsOf(applied),
				func(part *jsonschema.Schema) bool { return part != nil }))
		}
		queue = append(queue, partsOf(schema)...)
	}
	for location, schema := range s.byLocation {
		original := *schema
		s.byLocation[location] = &original
		rules := schema
		if branches[schema] {
			rules = countBranch(schema, s.meter)
		}
		if rules.Bool != nil {
			continue
		}
		same := len(referredSchemas(rules)) + len(branchSchemas(rules))
		s.meterSchema(rules, int64(1+same+len(rules.PatternProperties)))
		guardNames(rules, s.meter)
		countMembers(rules, s.meter)
		countItems(rules, s.meter)
	}
}

func (s *compiledSchema) meterSchema(schema *jsonschema.Schema, weight int64) {
	if schema.Enum != nil {
		weight += int64(len(schema.Enum.Values))
	}
	inner := cmp.Or(schema.Format, &jsonschema.Format{Validate: func(any) error { return nil }})
	schema.Format = &jsonschema.Format{Name: inner.Name, Validate: func(v any) error {
		if !s.meter.charge(weight * extent(v)) {
			return errStopped
		}
		return inner.Validate(v)
	}}
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

// guardNames replaces the library's check of property names, which reports places that later checks have overwritten.
func guardNames(schema *jsonschema.Schema, m *meter) {
	rules := schema.PropertyNames
	if rules == nil {
		return
	}
	schema.PropertyNames = nil
	schema.Extensions = append(schema.Extensions, check(func(ctx *jsonschema.ValidatorContext, v any) {
		members, _ := v.(map[string]any)
		for name := range members {
			before := m.failures
			err := rules.Validate(name)
			m.failures = before
			if err != nil {
				ctx.AddError(&kind.PropertyNames{Property: name})
				m.fail(failureBytes + int64(len(ctx.ValueLocation()))*wordBytes)
			}
		}
	}))
}

// partsOf are all schemas that a schema applies.
func partsOf(s *jsonschema.Schema) []*jsonschema.Schema {
	return slices.Concat(referredSchemas(s), branchSchemas(s), loopedSchemas(s), partSchemas(s))
}

// referredSchemas are applied to the same value in place of the schema.
func referredSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	found := []*jsonschema.Schema{s.Ref, s.RecursiveRef}
	if s.DynamicRef != nil {
		found = append(found, s.DynamicRef.Ref)
	}
	return found
}

// branchSchemas are applied to the same value beside the schema.
func branchSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	found := slices.Concat([]*jsonschema.Schema{s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	found = slices.AppendSeq(found, maps.Values(s.DependentSchemas))
	for _, dependency := range s.Dependencies {
		found = appendSchema(found, dependency)
	}
	return found
}

// loopedSchemas are applied to members and items by the library.
func loopedSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	found := []*jsonschema.Schema{s.UnevaluatedProperties, s.Contains, s.UnevaluatedItems, s.ContentSchema}
	if several, ok := s.Items.([]*jsonschema.Schema); ok {
		found = appendSchema(append(found, several...), s.AdditionalItems)
	}
	return found
}

// partSchemas are applied to members, items and names, and counted there.
func partSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	found := append([]*jsonschema.Schema{s.PropertyNames, s.Items2020}, s.PrefixItems...)
	found = slices.AppendSeq(found, maps.Values(s.Properties))
	found = slices.AppendSeq(found, maps.Values(s.PatternProperties))
	found = appendSchema(found, s.AdditionalProperties)
	if _, several := s.Items.([]*jsonschema.Schema); !several {
		found = appendSchema(found, s.Items)
	}
	return found
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
