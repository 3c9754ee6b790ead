package schema

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// reference is a keyword of a schema whose value leads to another.
type reference struct {
	spot
	keyword, written string
	// address is where it leads to without its fragment; "" for what is no address.
	address string
}

// eachReference visits the references of all schemas of the step.
func (r *resources) eachReference(visit func(one *resource, to reference)) {
	r.walk(func(one *resource, s spot) {
		for _, keyword := range []string{"$schema", "$ref", "$dynamicRef", "$recursiveRef"} {
			if written, _ := s.object[keyword].(string); written != "" {
				visit(one, reference{s, keyword, written, engine.ResolveAddress(s.base, written)})
			}
		}
	})
}

// brokenReference returns the fault of the first reference that cannot be resolved, or nil.
func (r *resources) brokenReference() []engine.ConfigError {
	var found []engine.ConfigError
	builtIn := map[string]bool{}
	r.eachReference(func(one *resource, to reference) {
		if found != nil {
			return
		}
		if code, detail := r.checkReference(to, builtIn); code != "" {
			found = one.fault(append(slices.Clip(to.tokens), to.keyword), code, detail)
		}
	})
	return found
}

// checkReference says what is wrong with a reference. BuiltIn keeps which addresses are those of meta-schemas.
func (r *resources) checkReference(to reference, builtIn map[string]bool) (string, string) {
	quoted := engine.Quote(to.written)
	if to.address == "" {
		return codeRef, "the reference " + quoted + " is not an address"
	}
	value, there := r.byAddress[to.address]
	if !there {
		if _, asked := builtIn[to.address]; !asked {
			builtIn[to.address] = isMetaSchema(to.address)
		}
		if builtIn[to.address] {
			return "", ""
		}
		return notThere(to.keyword, to.written, to.address)
	}
	_, fragment, _ := strings.Cut(to.written, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	isPointer := strings.HasPrefix(fragment, "/")
	switch {
	case fragment == "", !isPointer && r.anchors[to.address+"#"+fragment]:
		return "", ""
	case !isPointer:
		return codeRef, "the reference " + quoted + " cannot be resolved: there is no anchor " + engine.Quote(fragment)
	}
	if _, there := engine.ValueAt(value, jsontext.Pointer(fragment).Tokens()); there {
		return "", ""
	}
	return codeRef, "the reference " + quoted + " cannot be resolved: there is nothing at " + engine.Clip(fragment)
}

// notThere is the fault of a reference to a schema that the step does not have.
func notThere(keyword, written, address string) (string, string) {
	if keyword != "$schema" {
		return codeRef, "the reference " + engine.Quote(written) + " leads to a schema that is not in this step: " +
			"put it under " + engine.Quote(nameOf(address)) + ` in "schemas", or collect all files with: ` +
			"simplevalidations workflows bundle"
	}
	use := "; use one like " + draftAddresses[0] + ", or leave it out"
	meant := engine.DidYouMean(engine.Nearest(written, draftAddresses))
	return "schema.draft", engine.Quote(written) + " is not a known draft" + cmp.Or(meant, use)
}

// draftAddresses are what $schema may be, newest first.
var draftAddresses = []string{
	"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
	"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-06/schema#",
	"http://json-schema.org/draft-04/schema#",
}

// codeRef is the code of a reference that cannot be resolved.
const codeRef = "schema.ref"

// nameOf is under which name a schema is put beside the others: its address, or the way to it from the schema.
func nameOf(address string) string {
	const host = "https://schema.invalid/"
	target, ok := strings.CutPrefix(address, host)
	if !ok {
		return address
	}
	name, _ := filepath.Rel(strings.TrimPrefix(engine.SchemaFolder, host), target) // Both are below the host.
	return name
}

// Missing is a schema that a step refers to and does not have.
type Missing struct {
	// Name is its name under schemas: an address, or the way to it from the schema where it has none.
	Name string
	// Written is the reference to it, and From the name of the schema that it stands in.
	Written, From string
}

// FindMissing returns what the schemas of a configuration refer to and do not have, or why they cannot be read.
func FindMissing(config json.RawMessage, limits engine.Limits) ([]Missing, []engine.ConfigError) {
	var c Config
	if faults := engine.DecodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	read, problem := readResources(c, limits)
	if problem != nil {
		return nil, problem
	}
	var missing []Missing
	// Each schema is missed once, and those that are built in are not missed.
	found := map[string]bool{}
	read.eachReference(func(one *resource, to reference) {
		if _, there := read.byAddress[to.address]; to.address == "" || there || found[to.address] {
			return
		}
		found[to.address] = true
		if !isMetaSchema(to.address) {
			missing = append(missing, Missing{nameOf(to.address), to.written, one.name})
		}
	})
	return missing, nil
}

// fault is what is wrong at a place of the resource.
func (r *resource) fault(tokens []string, code, detail string) []engine.ConfigError {
	at := engine.Pointer(tokens...)
	if !r.isText {
		return engine.Refuse(r.pointer+at, code, detail)
	}
	place := r.tree.Lines.PlaceAt(engine.Finding{}, r.tree.Spots(tokens)[0].Value)
	if at != "" {
		detail = "at " + engine.Clip(at) + ": " + detail
	}
	return []engine.ConfigError{engine.NewTextError(r.pointer, code, place.Line, place.Column, detail)}
}

// place returns the resource that an address of the library is in, and its tokens there.
func (r *resources) place(address string) (*resource, []string) {
	address, fragment, _ := strings.Cut(address, "#")
	var tokens []string
	if plain, err := url.PathUnescape(fragment); err == nil && strings.HasPrefix(plain, "/") {
		tokens = slices.Collect(jsontext.Pointer(plain).Tokens())
	}
	for i := range r.list {
		if r.list[i].address == address {
			return &r.list[i], tokens
		}
	}
	return &r.list[0], nil
}
