package schema

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// maxLeaves bounds the failures that are described at all. Beyond them they are only counted.
const maxLeaves = 20_000

// leaf is one failure of one keyword.
type leaf struct {
	// owner is the value that was checked, path what the finding points at: the same, or a member.
	owner []string
	path  []string
	// atName says that the finding points at the member's name instead of its value.
	atName  bool
	code    string
	message string
	// explain says more than message. It is asked only for what is listed, because it looks for names that are alike.
	explain func() string
	// check names the place in the schema.
	check string

	ownerSpot *tree.Spot
	spot      *tree.Spot
}

// leaves are the failures of a document.
type leaves struct {
	list     []leaf
	unlisted map[engine.CheckKey]int
}

func (l leaf) position() engine.Position {
	if l.atName {
		return l.spot.Name
	}
	return l.spot.Value
}

func (l leaf) same(other leaf) bool {
	return l.spot == other.spot && l.code == other.code && l.message == other.message
}

// leaves lists what made a document fail. It skips the keywords that only combine others.
func (s *compiledSchema) leaves(document any, failure *jsonschema.ValidationError) leaves {
	found := leaves{unlisted: map[engine.CheckKey]int{}}
	queue := []*jsonschema.ValidationError{failure}
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		if combines(e.ErrorKind) && len(e.Causes) > 0 {
			queue = append(queue, e.Causes...)
			continue
		}
		if e == errNotCounted || stopped(e) {
			continue
		}
		listed, n := s.describe(document, e, maxLeaves-len(found.list))
		found.list = append(found.list, listed...)
		if n > len(listed) {
			key := engine.CheckKey{Code: codePrefix + keywordOf(e), Path: checkName(e), Severity: engine.SeverityError}
			found.unlisted[key] += n - len(listed)
		}
	}
	return found
}

// stopped reports whether a failure comes from the meter that ended the check, and not from the document.
func stopped(e *jsonschema.ValidationError) bool {
	format, ok := e.ErrorKind.(*kind.Format)
	return ok && errors.Is(format.Err, errStopped)
}

// codePrefix begins the codes of failures; the keyword that failed follows.
const codePrefix = "schema."

// keywordOf returns the keyword that failed.
func keywordOf(e *jsonschema.ValidationError) string {
	switch e.ErrorKind.(type) {
	case *kind.FalseSchema:
		keyword := e.SchemaURL[strings.LastIndexByte(e.SchemaURL, '/')+1:]
		switch keyword {
		case "unevaluatedProperties", "unevaluatedItems", "items", "additionalItems", "additionalProperties",
			"contains":
			return keyword
		}
		return "false"
	case *kind.Not:
		return "not"
	case *kind.RefCycle:
		return "ref"
	case *kind.Dependency:
		return "dependencies"
	}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return path[0]
	}
	return "failed"
}

// combines reports whether a failure has nothing to say beside its causes.
func combines(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return true
	default:
		return false
	}
}

// describe lists at most so many leaves of a failure, and counts all. One of names has a leaf for each name.
func (s *compiledSchema) describe(document any, e *jsonschema.ValidationError, most int) ([]leaf, int) {
	owner := e.InstanceLocation
	base := leaf{owner: owner, path: owner, code: codePrefix + keywordOf(e), check: checkName(e)}
	var names []string
	var describe func(l *leaf, name string)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		names = k.Missing
		describe = func(l *leaf, name string) { l.message = "missing property '" + engine.Clip(name) + "'" }
	case *kind.AdditionalProperties:
		names = k.Properties
		candidates := sync.OnceValue(func() []string { return s.unusedNames(document, e) })
		describe = func(l *leaf, name string) {
			pointAtName(l, name)
			l.message = engine.NotAllowed(name, nil)
			l.explain = func() string { return engine.NotAllowed(name, candidates()) }
		}
	case *kind.PropertyNames:
		names = []string{k.Property}
		describe = func(l *leaf, name string) {
			pointAtName(l, name)
			l.message = "the name " + engine.Quote(name) + " is not allowed here"
		}
	case *kind.FalseSchema:
		names = []string{""}
		describe = func(l *leaf, _ string) { l.atName, l.message = true, "not allowed here" }
	default:
		names = []string{""}
		describe = func(l *leaf, _ string) {
			value, _ := engine.ValueAt(document, slices.Values(owner))
			l.message = cmp.Or(describeValue(value, e), describeSize(e), describeForm(e), "does not satisfy the schema")
		}
	}
	found := []leaf{}
	for _, name := range names[:max(0, min(len(names), most))] {
		l := base
		describe(&l, name)
		found = append(found, l)
	}
	return found, len(names)
}

// pointAtName makes the finding point at the name of a member.
func pointAtName(l *leaf, name string) {
	l.path, l.atName = append(slices.Clone(l.owner), name), true
}

// unusedNames are the names that the schema defines and the object lacks.
func (s *compiledSchema) unusedNames(document any, e *jsonschema.ValidationError) []string {
	const most = 1000
	schema := s.byLocation[e.SchemaURL]
	object, _ := engine.ValueAt(document, slices.Values(e.InstanceLocation))
	members, _ := object.(map[string]any)
	if schema == nil || len(schema.Properties) > most {
		return nil
	}
	unused := []string{}
	for name := range schema.Properties {
		if _, used := members[name]; !used {
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	return unused
}

// checkName is the place in the schemas, without the address that only the compiler knows.
func checkName(e *jsonschema.ValidationError) string {
	if fragment, ok := strings.CutPrefix(e.SchemaURL, schemaURL+"#"); ok {
		return fragment
	}
	return strings.TrimPrefix(e.SchemaURL, engine.SchemaFolder)
}
