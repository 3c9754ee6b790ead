package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// doubter looks for members of schemas that check nothing although they seem to.
type doubter struct {
	// containers are the names that references go through: what they hold is used.
	containers map[string]bool
	found      []engine.ConfigError
}

// Warnings says which members of the schemas of a step check nothing although they seem to: those that no draft knows,
// and those that the draft of the schema does not know. It has nothing to say of a step that Compile refuses.
func Warnings(c Config, limits engine.Limits) []engine.ConfigError {
	read, fault := readResources(c, limits)
	if fault != nil {
		return nil
	}
	d := &doubter{containers: map[string]bool{}}
	read.walk(d.addContainers)
	for i := range read.list {
		one := &read.list[i]
		object, _ := one.value.(map[string]any)
		address, _ := object["$schema"].(string)
		// A schema of a custom dialect may have any keywords.
		if draft := draftOf(c.Draft, address); draft >= 0 {
			d.doubt(one, one.value, nil, draft)
		}
	}
	return engine.FewWarnings(d.found, "schema.unknown_keyword")
}

func (d *doubter) addContainers(_ *resource, s spot) {
	written, _ := s.object["$ref"].(string)
	_, fragment, _ := strings.Cut(written, "#")
	for token := range strings.SplitSeq(fragment, "/") {
		d.containers[token] = true
	}
}

// doubt looks at a schema and at those that it applies.
func (d *doubter) doubt(one *resource, value any, tokens []string, draft int) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	_, refers := object["$ref"].(string)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		code, detail := d.reason(name, draft)
		if code == "" && refers && draft <= draft7 && d.isAssertion(name) {
			code = "schema.draft_keyword"
			detail = fmt.Sprintf("%s stands beside $ref, so draft %s ignores it; put the $ref into an allOf, "+
				"or use draft 2019-09 or later", name, drafts[draft].name)
		}
		if code != "" {
			d.found = append(d.found, one.fault(append(slices.Clip(tokens), name), code, detail)...)
		}
		for _, below := range within(name, object[name]) {
			d.doubt(one, below.value, append(slices.Clip(tokens), below.tokens...), draft)
		}
	}
}

// isAssertion reports whether a member of a schema can refuse documents.
func (d *doubter) isAssertion(name string) bool {
	_, known := keywords[name]
	return known && !d.containers[name] && !strings.HasPrefix(name, "$") && name != "id"
}

// reason says why a member of a schema checks nothing; "" where it checks something, or is not to.
func (d *doubter) reason(name string, draft int) (string, string) {
	known, ok := keywords[name]
	switch {
	case ok && draft >= known.since && draft <= known.until, d.containers[name]:
		return "", ""
	case ok && name != "id":
		names := engine.Each(drafts[known.since:known.until+1], func(one dialect) string { return one.name })
		return "schema.draft_keyword", fmt.Sprintf("%s is not a keyword of draft %s, so it is ignored; it is one of %s",
			name, drafts[draft].name, strings.Join(names, ", "))
	case isAnnotation(name):
		return "", ""
	}
	detail := engine.Quote(name) + " is not a keyword of JSON Schema, so it is ignored"
	meant := engine.Nearest(name, slices.Sorted(maps.Keys(keywords)))
	return "schema.unknown_keyword", detail + engine.DidYouMean(meant)
}
