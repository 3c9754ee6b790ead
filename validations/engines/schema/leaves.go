package schema

import (
	"errors"
	"slices"
	"strconv"
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
		listed := s.describe(document, e, maxLeaves-len(found.list))
		found.list = append(found.list, listed...)
		if keyword, n := count(e); n > len(listed) {
			key := engine.CheckKey{Code: codePrefix + keyword, Path: checkName(e), Severity: engine.SeverityError}
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

// count returns the keyword that failed and how often, as describe does, without the cost of a message.
func count(e *jsonschema.ValidationError) (string, int) {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return "required", len(k.Missing)
	case *kind.AdditionalProperties:
		return "additionalProperties", len(k.Properties)
	case *kind.FalseSchema:
		return falseKeyword(e.SchemaURL), 1
	case *kind.Not:
		return "not", 1
	case *kind.RefCycle:
		return "ref", 1
	case *kind.Dependency:
		return "dependencies", 1
	}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return path[0], 1
	}
	return "failed", 1
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

// describe lists at most so many leaves of a failure. One of names has a leaf for each name.
func (s *compiledSchema) describe(document any, e *jsonschema.ValidationError, most int) []leaf {
	if most <= 0 {
		return nil
	}
	owner := e.InstanceLocation
	base := leaf{owner: owner, path: owner, check: checkName(e)}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing[:min(len(k.Missing), most)], func(name string) leaf {
			return base.with("required", "missing property '"+engine.Clip(name)+"'")
		})
	case *kind.AdditionalProperties:
		candidates := sync.OnceValue(func() []string { return s.unusedNames(document, e) })
		return each(k.Properties[:min(len(k.Properties), most)], func(name string) leaf {
			l := base.member(name).with("additionalProperties", engine.NotAllowed(name, nil))
			l.explain = func() string { return engine.NotAllowed(name, candidates()) }
			return l
		})
	case *kind.PropertyNames:
		message := "the name " + engine.Quote(k.Property) + " is not allowed here"
		return []leaf{base.member(k.Property).with("propertyNames", message)}
	case *kind.FalseSchema:
		base.atName = true
		return []leaf{base.with(falseKeyword(e.SchemaURL), "not allowed here")}
	default:
		keyword, message := describeKind(valueAt(document, owner), e)
		return []leaf{base.with(keyword, message)}
	}
}

func (l leaf) with(keyword, message string) leaf {
	l.code = codePrefix + keyword
	l.message = message
	return l
}

func (l leaf) member(name string) leaf {
	l.path = append(slices.Clone(l.owner), name)
	l.atName = true
	return l
}

func each(names []string, describe func(name string) leaf) []leaf {
	found := []leaf{}
	for _, name := range names {
		found = append(found, describe(name))
	}
	return found
}

// unusedNames are the names that the schema defines and the object lacks.
func (s *compiledSchema) unusedNames(document any, e *jsonschema.ValidationError) []string {
	const most = 1000
	schema := s.byLocation[e.SchemaURL]
	members, _ := valueAt(document, e.InstanceLocation).(map[string]any)
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

func valueAt(value any, path []string) any {
	for _, token := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// falseKeyword names the keyword whose schema is false, by its location in the schema.
func falseKeyword(location string) string {
	keyword := location[strings.LastIndexByte(location, '/')+1:]
	switch keyword {
	case "unevaluatedProperties", "unevaluatedItems", "items", "additionalItems", "additionalProperties", "contains":
		return keyword
	default:
		return "false"
	}
}

// checkName is the place in the schemas, without the address that only the compiler knows.
func checkName(e *jsonschema.ValidationError) string {
	if fragment, ok := strings.CutPrefix(e.SchemaURL, schemaURL+"#"); ok {
		return fragment
	}
	return strings.TrimPrefix(e.SchemaURL, schemaFolder)
}
