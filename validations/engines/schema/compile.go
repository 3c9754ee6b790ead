package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/simplevalidations/simplevalidations/validations/engines/ecma"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// schemaURL is where the compiler believes the schema to be, so that relative references have a base. Nothing can be
// loaded from it.
const schemaURL = "https://schema.invalid/schema.json"

// schemaSource is a schema that was read but not compiled.
type schemaSource struct {
	document any
	draft    *jsonschema.Draft
	// anchors are the fragments of the sub-schemas that can be reached by a dynamic reference alone.
	anchors []string
}

// compiledSchema is a schema ready for one run at a time.
type compiledSchema struct {
	root       *jsonschema.Schema
	meter      *meter
	byLocation map[string]*jsonschema.Schema
}

func readSchema(c stepConfig, limits engine.Limits) (schemaSource, *engine.ConfigError) {
	if len(c.Schema) == 0 {
		return schemaSource{}, fault("/schema", "schema.missing", "a schema is needed")
	}
	if len(c.Schema) > limits.MaxSchemaBytes {
		detail := fmt.Sprintf("the schema has %d bytes, at most %d are allowed", len(c.Schema), limits.MaxSchemaBytes)
		return schemaSource{}, fault("/schema", "schema.too_large", detail)
	}
	draft, known := draftNamed(c.Draft)
	if !known {
		return schemaSource{}, fault("/draft", "schema.draft", "use one of 2020-12, 2019-09, 7, 6 and 4")
	}
	t, broken := tree.ParseJSON(c.Schema, limits)
	if broken != nil {
		return schemaSource{}, fault("/schema", broken.Code, broken.Message)
	}
	if fault := checkRoot(t.Value); fault != nil {
		return schemaSource{}, fault
	}
	s := schemaSource{document: t.Value, draft: draft}
	if count := s.survey(t.Value, ""); count > limits.MaxSubSchemas {
		detail := fmt.Sprintf("the schema has %d sub-schemas, at most %d are allowed", count, limits.MaxSubSchemas)
		return schemaSource{}, fault("/schema", "schema.too_large", detail)
	}
	return s, nil
}

func checkRoot(value any) *engine.ConfigError {
	switch value.(type) {
	case map[string]any, bool:
		return nil
	default:
		return fault("/schema", "schema.type", "a schema is an object, true or false")
	}
}

func draftNamed(name string) (*jsonschema.Draft, bool) {
	switch name {
	case "", "2020-12":
		return jsonschema.Draft2020, true
	case "2019-09":
		return jsonschema.Draft2019, true
	case "7":
		return jsonschema.Draft7, true
	case "6":
		return jsonschema.Draft6, true
	case "4":
		return jsonschema.Draft4, true
	default:
		return nil, false
	}
}

// survey counts the objects, of which there are at least as many as sub-schemas, and collects the dynamic anchors.
func (s *schemaSource) survey(value any, fragment string) int {
	count := 0
	switch v := value.(type) {
	case map[string]any:
		count++
		if _, ok := v["$dynamicAnchor"].(string); ok {
			s.anchors = append(s.anchors, fragment)
		}
		for name, child := range v {
			count += s.survey(child, fragment+url.PathEscape(engine.Pointer(name)))
		}
	case []any:
		for i, child := range v {
			count += s.survey(child, fmt.Sprintf("%s/%d", fragment, i))
		}
	case bool:
		count++
	}
	return count
}

// compile may be called again for the same source: each result serves one run at a time. The library panics in states
// it believes impossible; a hostile schema must not take the process with it.
func (s *schemaSource) compile(limits engine.Limits) (*compiledSchema, *engine.ConfigError) {
	var compiled *compiledSchema
	fault := fault("/schema", "schema.invalid", "the schema cannot be compiled")
	func() {
		defer func() {
			if recover() != nil {
				compiled = nil
			}
		}()
		compiled, fault = s.compileOnce(limits)
	}()
	return compiled, fault
}

func (s *schemaSource) compileOnce(limits engine.Limits) (*compiledSchema, *engine.ConfigError) {
	m := &meter{limit: limits.MaxSchemaWork}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(s.draft)
	compiler.AssertFormat()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	compiler.UseRegexpEngine(func(source string) (jsonschema.Regexp, error) {
		if m.ended != nil {
			// In a run, a document's text of the format regex is checked.
			return nil, ecma.Check(source, limits)
		}
		p, err := ecma.Compile(source, limits)
		if err != nil {
			return nil, err
		}
		return &meteredPattern{pattern: p, meter: m, limits: limits}, nil
	})
	if err := compiler.AddResource(schemaURL, s.document); err != nil {
		return nil, s.compileFault(err)
	}
	root, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, s.compileFault(err)
	}
	compiled := &compiledSchema{root: root, meter: m, byLocation: map[string]*jsonschema.Schema{}}
	roots := []*jsonschema.Schema{root}
	for _, fragment := range s.anchors {
		// What looks like an anchor may stand in an example, where it is no schema and need not compile.
		if anchored, err := compiler.Compile(schemaURL + "#" + fragment); err == nil {
			roots = append(roots, anchored)
		}
	}
	compiled.guard(roots)
	return compiled, nil
}

// compileFault says in plain words why a schema is refused.
func (s *schemaSource) compileFault(err error) *engine.ConfigError {
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		at, written := findReference(s.document, "", load.URL)
		if written == "" {
			written = load.URL
		}
		detail := "the reference to " + engine.Quote(written) + " points outside the schema, which is not allowed"
		return fault("/schema"+at, "schema.ref", detail)
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if failure, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			l := firstLeaf(failure)
			return fault("/schema"+engine.Pointer(l.path...), "schema.invalid", l.message)
		}
	}
	detail := strings.ReplaceAll(err.Error(), schemaURL, "")
	return fault("/schema", "schema.invalid", engine.ClipTo(detail, 4*engine.MaxQuoted))
}

// findReference returns where a schema refers to the address, and how that is written there; nothing where the address
// is made of identifiers inside the schema.
func findReference(value any, at, address string) (string, string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := at + engine.Pointer(name)
			if written, ok := v[name].(string); ok && isReference(name) && leadsTo(written, address) {
				return below, written
			}
			if found, written := findReference(v[name], below, address); written != "" {
				return found, written
			}
		}
	case []any:
		for i, child := range v {
			if found, written := findReference(child, at+engine.Pointer(strconv.Itoa(i)), address); written != "" {
				return found, written
			}
		}
	}
	return "", ""
}

func isReference(keyword string) bool {
	return slices.Contains([]string{"$ref", "$dynamicRef", "$recursiveRef", "$schema"}, keyword)
}

// leadsTo says whether a reference leads to the address, whatever part of what is there it means.
func leadsTo(reference, address string) bool {
	base, err := url.Parse(schemaURL)
	if err != nil {
		return false
	}
	target, err := base.Parse(reference)
	if err != nil {
		return false
	}
	target.Fragment = ""
	return target.String() == address
}

func fault(pointer, code, detail string) *engine.ConfigError {
	return &engine.ConfigError{Pointer: pointer, Code: code, Detail: detail}
}
