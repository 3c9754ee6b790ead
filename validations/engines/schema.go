package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaConfig is the configuration of a json_schema step. The draft holds where the schema names none.
type schemaConfig struct {
	Schema json.RawMessage `json:"schema"`
	Draft  string          `json:"draft,omitempty"`
}

// schemaEngine checks JSON and YAML documents by a JSON Schema.
type schemaEngine struct {
	source schemaSource
	limits Limits
	// idle holds compiled schemas that no run uses. Each has its own meter, because the library gives a check no other
	// way to know which run it belongs to.
	idle chan *compiledSchema
}

// maxIdleSchemas is how many compiled schemas one engine keeps for runs at the same time.
const maxIdleSchemas = 8

func compileSchema(config json.RawMessage, limits Limits) (*schemaEngine, []ConfigError) {
	var c schemaConfig
	if faults := decodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	source, fault := readSchema(c, limits)
	if fault != nil {
		return nil, []ConfigError{*fault}
	}
	engine := &schemaEngine{source: source, limits: limits, idle: make(chan *compiledSchema, maxIdleSchemas)}
	first, fault := source.compile(limits)
	if fault != nil {
		return nil, []ConfigError{*fault}
	}
	engine.idle <- first
	return engine, nil
}

// Run checks one document.
func (e *schemaEngine) Run(ctx context.Context, doc Document) (Report, error) {
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("check by schema: %w", err)
	}
	c := newCollector(e.limits)
	t, unreadable, err := readTree(doc, e.limits)
	if err != nil {
		return Report{}, err
	}
	if unreadable != nil {
		c.add("", *unreadable)
		return c.finish(), nil
	}
	compiled, err := e.take()
	if err != nil {
		return Report{}, err
	}
	defer e.put(compiled)
	failure, err := compiled.validate(ctx, t.value)
	if err != nil {
		return Report{}, err
	}
	if compiled.meter.exhausted != "" {
		c.add("", Finding{Severity: SeverityError, Code: "schema.not_evaluated", Message: compiled.meter.exhausted})
		return c.finish(), nil
	}
	if failure != nil {
		report(c, t, compiled.leaves(t.value, failure))
	}
	return c.finish(), nil
}

func (e *schemaEngine) take() (*compiledSchema, error) {
	select {
	case idle := <-e.idle:
		return idle, nil
	default:
	}
	compiled, fault := e.source.compile(e.limits)
	if fault != nil {
		return nil, fmt.Errorf("compile schema again: %s", fault.Detail)
	}
	return compiled, nil
}

func (e *schemaEngine) put(compiled *compiledSchema) {
	select {
	case e.idle <- compiled:
	default:
	}
}

// validate returns what the document fails, nil when it passes.
func (s *compiledSchema) validate(ctx context.Context, value any) (*jsonschema.ValidationError, error) {
	s.meter.start(ctx.Err)
	err := s.root.Validate(value)
	if ended := ctx.Err(); ended != nil {
		return nil, fmt.Errorf("check by schema: %w", ended)
	}
	if err == nil {
		return nil, nil //nolint:nilnil // no failure is what is hoped for
	}
	failure, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil, fmt.Errorf("check by schema: %w", err)
	}
	return failure, nil
}

// report turns failures into findings: those of an object first, then those of its members, as the document has them.
func report(c *collector, t *tree, failures leaves) {
	root := &spot{}
	for i := range failures.list {
		l := &failures.list[i]
		l.ownerSpot, l.spot = root.at(l.owner), root.at(l.path)
	}
	t.locate(root)
	slices.SortStableFunc(failures.list, func(a, b leaf) int {
		return cmp.Or(
			comparePositions(a.ownerSpot.value, b.ownerSpot.value),
			comparePositions(a.position(), b.position()),
			cmp.Compare(a.code, b.code),
			cmp.Compare(a.message, b.message),
		)
	})
	for i, l := range failures.list {
		if i > 0 && l.same(failures.list[i-1]) {
			continue
		}
		f := Finding{Severity: SeverityError, Code: l.code, Message: l.message, Path: pointer(l.path...)}
		if !c.full(checkKey{f.Code, l.check, f.Severity}) {
			f = t.lines.placeAt(f, l.position())
			if l.explain != nil {
				f.Message = l.explain()
			}
		}
		c.add(l.check, f)
	}
	for _, key := range slices.SortedFunc(maps.Keys(failures.unlisted), compareChecks) {
		c.addUnlisted(key, failures.unlisted[key])
	}
}

func compareChecks(a, b checkKey) int {
	return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.code, b.code))
}

func comparePositions(a, b position) int {
	return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
}
