// Package schema is the engine of json_schema steps: it checks JSON and YAML documents by a JSON Schema.
package schema

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// Config is the configuration of a json_schema step. Schemas has what the schema refers to, by addresses that may
// be relative. The draft holds where a schema names none.
type Config struct {
	Schema  json.RawMessage            `json:"schema"`
	Schemas map[string]json.RawMessage `json:"schemas,omitempty"`
	Draft   string                     `json:"draft,omitempty"`
}

// Engine checks JSON and YAML documents by a JSON Schema.
type Engine struct {
	source *resources
	limits engine.Limits
	// idle holds compiled schemas that no run uses. Each has its own meter, because the library gives a check no other
	// way to know which run it belongs to.
	idle chan *compiledSchema
}

// maxIdleSchemas is how many compiled schemas one engine keeps for runs at the same time.
const maxIdleSchemas = 8

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(c Config, limits engine.Limits) (*Engine, []engine.ConfigError) {
	if draftOf(c.Draft, "") < 0 {
		return nil, engine.Refuse("/draft", "schema.draft", "use one of 2020-12, 2019-09, 7, 6 and 4")
	}
	source, fault := readResources(c, limits)
	if fault != nil {
		return nil, fault
	}
	e := &Engine{source: source, limits: limits, idle: make(chan *compiledSchema, maxIdleSchemas)}
	first, fault := source.compile(limits)
	if fault != nil {
		return nil, fault
	}
	e.idle <- first
	return e, nil
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	read := func() (*tree.Tree, *engine.Finding, error) { return tree.Read(doc, e.limits) }
	return engine.Judge(ctx, e.limits, read, func(t *tree.Tree, c *engine.Collector) error {
		compiled := e.take()
		defer e.put(compiled)
		failure, err := compiled.validate(ctx, t.Value, doc.Size)
		switch meter := compiled.meter; {
		case err != nil:
			return err
		case meter.exhausted != "":
			c.Add("", engine.Failure("schema.not_evaluated", meter.exhausted))
			return nil
		case failure != nil:
			report(c, t, compiled.leaves(t.Value, failure))
		}
		if compiled.meter.overflowed {
			c.Add("", engine.Failure("schema.not_evaluated", tooManyFailures))
		}
		return nil
	})
}

func (e *Engine) take() *compiledSchema {
	select {
	case idle := <-e.idle:
		return idle
	default:
		compiled, _ := e.source.compile(e.limits) // It was compiled before.
		return compiled
	}
}

func (e *Engine) put(compiled *compiledSchema) {
	select {
	case e.idle <- compiled:
	default:
	}
}

// validate returns what the document fails, nil when it passes.
func (s *compiledSchema) validate(ctx context.Context, value any, size int64) (*jsonschema.ValidationError, error) {
	s.meter.start(ctx.Err, size)
	err := s.root.Validate(value)
	if ended := ctx.Err(); ended != nil {
		return nil, fmt.Errorf("check by schema: %w", ended)
	}
	if s.meter.failed != nil {
		return nil, s.meter.failed
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
func report(c *engine.Collector, t *tree.Tree, failures leaves) {
	root := &tree.Spot{}
	for i := range failures.list {
		l := &failures.list[i]
		l.ownerSpot, l.spot = root.At(l.owner), root.At(l.path)
	}
	t.Locate(root)
	slices.SortStableFunc(failures.list, func(a, b leaf) int {
		return cmp.Or(
			engine.ComparePositions(a.ownerSpot.Value, b.ownerSpot.Value),
			engine.ComparePositions(a.position(), b.position()),
			cmp.Compare(a.code, b.code),
			cmp.Compare(a.message, b.message),
		)
	})
	for i, l := range failures.list {
		if i > 0 && l.same(failures.list[i-1]) {
			continue
		}
		f := engine.Failure(l.code, l.message)
		f.Path = engine.Pointer(l.path...)
		if !c.Full(engine.CheckKey{Code: f.Code, Path: l.check, Severity: f.Severity}) {
			f = t.Lines.PlaceAt(f, l.position())
			if l.explain != nil {
				f.Message = l.explain()
			}
		}
		c.Add(l.check, f)
	}
	for _, key := range slices.SortedFunc(maps.Keys(failures.unlisted), func(a, b engine.CheckKey) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Code, b.Code))
	}) {
		c.AddFolded(key.Path, engine.Failure(key.Code, ""), failures.unlisted[key], nil)
	}
}
