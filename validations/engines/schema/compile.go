package schema

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// compiledSchema is a schema ready for one run at a time.
type compiledSchema struct {
	root       *jsonschema.Schema
	meter      *meter
	byLocation map[string]*jsonschema.Schema
}

// compile may be called again for the same source: each result serves one run at a time. The library panics in states
// it believes impossible; a hostile schema must not take the process with it.
//
//nolint:nonamedreturns // what recovers from a panic sets them
func (r *resources) compile(limits engine.Limits) (compiled *compiledSchema, problem []engine.ConfigError) {
	defer func() {
		if recover() != nil {
			compiled, problem = nil, engine.Refuse("/schema", "schema.invalid", "the schema cannot be compiled")
		}
	}()
	m := &meter{limit: limits.MaxSchemaWork}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(drafts[draftOf(r.draft, "")].library)
	compiler.AssertFormat()
	for _, format := range ownFormats() {
		compiler.RegisterFormat(format)
	}
	compiler.UseLoader(r)
	compiler.UseRegexpEngine(func(source string) (jsonschema.Regexp, error) {
		p, err := engine.CompileECMA(source, limits)
		if err != nil {
			return nil, err
		}
		return &meteredPattern{pattern: p, meter: m, limits: limits}, nil
	})
	var roots []*jsonschema.Schema
	for _, one := range r.list {
		root, err := compiler.Compile(one.address)
		if err != nil {
			return nil, r.compileFault(err, limits)
		}
		roots = append(roots, root)
	}
	compiled = &compiledSchema{root: roots[0], meter: m, byLocation: map[string]*jsonschema.Schema{}}
	for _, address := range r.dynamic {
		// What looks like an anchor may be part of an example, which need not compile.
		if anchored, err := compiler.Compile(address); err == nil {
			roots = append(roots, anchored)
		}
	}
	compiled.guard(roots)
	return compiled, nil
}

// compileFault says in plain words why a schema is refused.
func (r *resources) compileFault(err error, limits engine.Limits) []engine.ConfigError {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if failure, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			one, tokens := r.place(invalid.URL)
			l := firstLeaf(failure)
			if broken := r.brokenPattern(limits); broken != nil && l.code == codePrefix+"propertyNames" {
				return broken
			}
			return one.fault(append(tokens, l.path...), "schema.invalid", l.message)
		}
	}
	if _, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		if broken := r.brokenPattern(limits); broken != nil {
			return broken
		}
	}
	if broken := r.brokenReference(); broken != nil {
		return broken
	}
	detail := strings.NewReplacer(schemaURL, "", engine.SchemaFolder, "").Replace(err.Error())
	return engine.Refuse("/schema", "schema.invalid", engine.ClipTo(detail, 4*engine.MaxQuoted))
}

// brokenPattern returns the fault of the first invalid pattern. The library does not say which name of
// patternProperties it means.
func (r *resources) brokenPattern(limits engine.Limits) []engine.ConfigError {
	var found []engine.ConfigError
	r.walk(func(one *resource, at spot) {
		patterns := map[string][]string{}
		if pattern, ok := at.object["pattern"].(string); ok {
			patterns[pattern] = []string{"pattern"}
		}
		names, _ := at.object["patternProperties"].(map[string]any)
		for pattern := range names {
			patterns[pattern] = []string{"patternProperties", pattern}
		}
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			if _, err := engine.CompileECMA(pattern, limits); err != nil && found == nil {
				tokens := append(slices.Clip(at.tokens), patterns[pattern]...)
				found = one.fault(tokens, "schema.invalid", notARegex(pattern, err))
			}
		}
	})
	return found
}
