package schema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// brokenReference returns the fault of the first reference that cannot be resolved, or nil.
func (r *resources) brokenReference(draft string) *engine.ConfigError {
	var found *engine.ConfigError
	known := map[string]bool{}
	for _, one := range r.list {
		walk(one, draft, func(s spot) {
			for _, keyword := range referenceKeywords {
				written, ok := s.object[keyword].(string)
				if !ok || found != nil {
					continue
				}
				if code, detail := r.checkReference(keyword, written, s.base, known); code != "" {
					found = one.fault(append(slices.Clip(s.tokens), keyword), code, detail)
				}
			}
		})
	}
	return found
}

// checkReference says what is wrong with a reference. Known keeps which addresses are those of meta-schemas.
func (r *resources) checkReference(keyword, written, base string, known map[string]bool) (string, string) {
	quoted := engine.Quote(written)
	address := addressWithin(base, written)
	if address == "" {
		return codeRef, "the reference " + quoted + " is not an address"
	}
	value, there := r.byAddress[address]
	if !there {
		if _, asked := known[address]; !asked {
			known[address] = isMetaSchema(address)
		}
		if known[address] {
			return "", ""
		}
		return notThere(keyword, written, address)
	}
	_, fragment, _ := strings.Cut(written, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	switch {
	case fragment == "", strings.HasPrefix(fragment, "/") && leadsSomewhere(value, fragment):
		return "", ""
	case strings.HasPrefix(fragment, "/"):
		return codeRef, "the reference " + quoted + " cannot be resolved: there is nothing at " + engine.Clip(fragment)
	case r.anchors[address+"#"+fragment]:
		return "", ""
	default:
		return codeRef, "the reference " + quoted + " cannot be resolved: there is no anchor " + engine.Quote(fragment)
	}
}

// notThere is the fault of a reference to a schema that the step does not have.
func notThere(keyword, written, address string) (string, string) {
	if keyword != "$schema" {
		return codeRef, "the reference " + engine.Quote(written) + " leads to a schema that is not in this step: " +
			"put it under " + engine.Quote(nameOf(address)) + ` in "schemas", or collect all files with: ` +
			"simplevalidations workflows bundle"
	}
	use := "; use one like " + draftAddresses[0] + ", or leave it out"
	if meant := engine.Nearest(written, draftAddresses); meant != "" {
		use = "; did you mean " + meant + "?"
	}
	return "schema.draft", engine.Quote(written) + " is not a known draft" + use
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
	from, to := strings.Split(strings.TrimPrefix(schemaFolder, host), "/"), strings.Split(target, "/")
	from = from[:len(from)-1]
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + strings.Join(to, "/")
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
	var c stepConfig
	if faults := engine.DecodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	read, problem := readResources(c, limits)
	if problem != nil {
		return nil, []engine.ConfigError{*problem}
	}
	var missing []Missing
	// Each schema is missed once, and those that are built in are not missed.
	found := map[string]bool{}
	for _, one := range read.list {
		walk(one, c.Draft, func(s spot) {
			for _, keyword := range referenceKeywords {
				written, _ := s.object[keyword].(string)
				address := addressWithin(s.base, written)
				_, there := read.byAddress[address]
				if written == "" || address == "" || there || found[address] {
					continue
				}
				found[address] = true
				if !isMetaSchema(address) {
					missing = append(missing, Missing{nameOf(address), written, one.name})
				}
			}
		})
	}
	return missing, nil
}

// referenceKeywords are those whose values lead to schemas.
var referenceKeywords = []string{"$schema", "$ref", "$dynamicRef", "$recursiveRef"}

func leadsSomewhere(value any, fragment string) bool {
	for token := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := value.(type) {
		case map[string]any:
			child, there := v[token]
			if !there {
				return false
			}
			value = child
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return false
			}
			value = v[i]
		default:
			return false
		}
	}
	return true
}

// fault is what is wrong at a place of the resource.
func (r *resource) fault(tokens []string, code, detail string) *engine.ConfigError {
	at := engine.Pointer(tokens...)
	if !r.isText {
		return fault(r.pointer+at, code, detail)
	}
	root := &tree.Spot{}
	spot := root.At(tokens)
	r.tree.Locate(root)
	place := r.tree.Lines.PlaceAt(engine.Finding{}, spot.Value)
	if at != "" {
		detail = "at " + engine.Clip(at) + ": " + detail
	}
	refusal := engine.NewTextError(r.pointer, code, place.Line, place.Column, detail)
	return &refusal
}

// place returns the resource that an address of the library is in, and its tokens there.
func (r *resources) place(address string) (*resource, []string) {
	address, fragment, _ := strings.Cut(address, "#")
	var tokens []string
	if plain, err := url.PathUnescape(fragment); err == nil && strings.HasPrefix(plain, "/") {
		for token := range strings.SplitSeq(plain[1:], "/") {
			tokens = append(tokens, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		}
	}
	for i := range r.list {
		if r.list[i].address == address {
			return &r.list[i], tokens
		}
	}
	return &r.list[0], nil
}
