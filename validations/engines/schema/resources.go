package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// schemaURL is where the compiler believes the schema to be.
const schemaURL = engine.SchemaFolder + "schema.json"

// resource is a schema of a step: the schema itself, or one of those that it refers to.
type resource struct {
	// name is what the step calls it; the schema itself has none.
	name, address string
	// pointer leads to it in the configuration. In a text, pointers lead no further.
	pointer string
	isText  bool
	value   any
	tree    *tree.Tree
}

// resources are the schemas of a step, the schema itself first, and all that they can refer to.
type resources struct {
	list []resource
	// draft is that of the step, "" where it names none.
	draft string
	// byAddress has schemas by their addresses without fragment: those of the list, and those that have an $id.
	byAddress map[string]any
	// anchors has the addresses of places that have a name, and dynamic those that a dynamic reference can reach.
	anchors map[string]bool
	dynamic []string
}

// Load returns a schema of the step for the library, which asks for what it does not have.
func (r *resources) Load(address string) (any, error) {
	if value, known := r.byAddress[address]; known {
		return value, nil
	}
	return nil, errNotThere
}

var errNotThere = errors.New("not in this step")

// readResources reads the schemas of a step.
func readResources(c Config, limits engine.Limits) (*resources, []engine.ConfigError) {
	size := len(c.Schema)
	for _, text := range c.Schemas {
		size += len(text)
	}
	if size > limits.MaxSchemaBytes {
		detail := fmt.Sprintf("the schema has %d bytes, at most %d are allowed", size, limits.MaxSchemaBytes)
		return nil, engine.Refuse("/schema", "schema.too_large", detail)
	}
	root, problem := readResource(c.Schema, "/schema", limits)
	if problem != nil {
		return nil, problem
	}
	root.address = schemaURL
	r := &resources{
		list: []resource{root}, draft: c.Draft,
		byAddress: map[string]any{schemaURL: root.value}, anchors: map[string]bool{},
	}
	base := engine.ResolveAddress(schemaURL, identityOf(root.value, c.Draft).idOf(root.value))
	for _, name := range slices.Sorted(maps.Keys(c.Schemas)) {
		if problem := r.add(name, base, c.Schemas[name], limits); problem != nil {
			return nil, problem
		}
	}
	r.walk(r.index)
	problem = r.checkSize(limits)
	return r, problem
}

// add reads one of the schemas that the schema refers to by the name.
func (r *resources) add(name, base string, text json.RawMessage, limits engine.Limits) []engine.ConfigError {
	pointer := "/schemas" + engine.Pointer(name)
	one, problem := readResource(text, pointer, limits)
	if problem != nil {
		return problem
	}
	one.name, one.address = name, engine.ResolveAddress(base, name)
	if _, taken := r.byAddress[one.address]; taken || one.address == base || one.address == "" {
		return engine.Refuse(pointer, "schema.address", engine.AddressFault(name, taken || one.address == base))
	}
	r.byAddress[one.address] = one.value
	r.list = append(r.list, one)
	return nil
}

// readResource reads a schema that is written as JSON, or as a text of JSON.
func readResource(text json.RawMessage, pointer string, limits engine.Limits) (resource, []engine.ConfigError) {
	one := resource{pointer: pointer}
	if len(text) == 0 {
		return one, engine.Refuse(pointer, "schema.missing", "a schema is needed")
	}
	var inside string
	if pointer != "/schema" && json.Unmarshal(text, &inside) == nil {
		text, one.isText = json.RawMessage(inside), true
	}
	t, broken := tree.ParseJSON(text, limits)
	if broken != nil {
		if one.isText {
			place := engine.NewLines(text, limits.MaxExcerpt).PlaceAt(engine.Finding{}, broken.At)
			fault := engine.NewTextError(pointer, broken.Code, place.Line, place.Column, broken.Message)
			return one, []engine.ConfigError{fault}
		}
		return one, engine.Refuse(pointer, broken.Code, broken.Message)
	}
	one.value, one.tree = t.Value, t
	return one, checkRoot(t.Value, pointer)
}

func checkRoot(value any, pointer string) []engine.ConfigError {
	hint := ""
	switch v := value.(type) {
	case map[string]any, bool:
		return nil
	case string:
		hint = engine.BundleHint(v)
	}
	return engine.Refuse(pointer, "schema.type", "a schema is an object, true or false"+hint)
}

// checkSize counts the objects, of which there are at least as many as sub-schemas.
func (r *resources) checkSize(limits engine.Limits) []engine.ConfigError {
	count := 0
	for _, one := range r.list {
		count += countSchemas(one.value)
	}
	if count > limits.MaxSubSchemas {
		detail := fmt.Sprintf("the schema has %d sub-schemas, at most %d are allowed", count, limits.MaxSubSchemas)
		return engine.Refuse("/schema", "schema.too_large", detail)
	}
	return nil
}

func countSchemas(value any) int {
	count := 0
	switch v := value.(type) {
	case map[string]any:
		count++
		for _, child := range v {
			count += countSchemas(child)
		}
	case []any:
		for _, child := range v {
			count += countSchemas(child)
		}
	case bool:
		count++
	}
	return count
}

// spot is an object of a schema: where it is in its resource, by its tokens, and the base of its references.
type spot struct {
	tokens []string
	base   string
	object map[string]any
}

// walk visits all objects of the resources that can be schemas; values that documents are compared with cannot.
func (r *resources) walk(visit func(one *resource, s spot)) {
	for i := range r.list {
		one := &r.list[i]
		walkValue(identityOf(one.value, r.draft), one.value, spot{base: one.address}, func(s spot) { visit(one, s) })
	}
}

// walkValue visits the objects of a value that stands at a spot.
func walkValue(by identity, value any, at spot, visit func(s spot)) {
	below := func(token string, child any) {
		walkValue(by, child, spot{tokens: append(slices.Clip(at.tokens), token), base: at.base}, visit)
	}
	switch v := value.(type) {
	case map[string]any:
		if id := by.idOf(v); id != "" && !strings.HasPrefix(id, "#") {
			at.base = engine.ResolveAddress(at.base, id)
		}
		visit(spot{at.tokens, at.base, v})
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains([]string{"enum", "const", "default", "examples"}, name) {
				below(name, v[name])
			}
		}
	case []any:
		for i, child := range v {
			below(strconv.Itoa(i), child)
		}
	}
}

// index notes what references can lead to in a resource.
func (r *resources) index(one *resource, s spot) {
	if _, known := r.byAddress[s.base]; !known {
		r.byAddress[s.base] = s.object
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor", "$id", "id"} {
		anchor, _ := s.object[keyword].(string)
		anchor, isFragment := strings.CutPrefix(anchor, "#")
		if anchor != "" && (isFragment || strings.HasSuffix(keyword, "nchor")) {
			r.anchors[s.base+"#"+anchor] = true
		}
	}
	if _, ok := s.object["$dynamicAnchor"].(string); ok {
		var fragment strings.Builder
		for _, token := range s.tokens {
			fragment.WriteString(url.PathEscape(engine.Pointer(token)))
		}
		r.dynamic = append(r.dynamic, one.address+"#"+fragment.String())
	}
}

// identity is how schemas of a draft say their addresses.
type identity struct {
	keyword string
	// hidden says that a $ref hides what is beside it.
	hidden bool
}

// identityOf looks which draft a schema is of, or takes that of the step.
func identityOf(value any, draft string) identity {
	object, _ := value.(map[string]any)
	if named, ok := object["$schema"].(string); ok {
		_, draft, _ = strings.Cut(named, "/draft-0")
		draft = draft[:min(1, len(draft))]
	}
	switch draft {
	case "4":
		return identity{"id", true}
	case "6", "7":
		return identity{"$id", true}
	default:
		return identity{"$id", false}
	}
}

func (i identity) idOf(value any) string {
	object, _ := value.(map[string]any)
	if _, refers := object["$ref"]; refers && i.hidden {
		return ""
	}
	id, _ := object[i.keyword].(string)
	return id
}

// isMetaSchema reports whether the library has the schema at an address itself.
func isMetaSchema(address string) bool {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	_, err := compiler.Compile(address)
	return err == nil
}
