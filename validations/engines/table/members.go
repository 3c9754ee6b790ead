package table

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// furtherMembers are the members of a schema that this engine does not know.
type furtherMembers map[string]json.RawMessage

// annotations are members that publishers use in addition to those of the specification. They check nothing.
var annotations = map[string]bool{
	"author": true, "categoriesOrdered": true, "comment": true, "comments": true, "contact": true, "countryCode": true,
	"countrycode": true, "contributor": true, "datapackage": true, "floatNumber": true, "id": true, "image": true,
	"lastModified": true, "mediatype": true, "package": true, "path": true, "profile": true, "profiles": true,
	"reference": true, "references": true, "resource": true, "resources": true, "status": true, "unit": true,
	"units": true, "updated": true, "uri": true, "url": true,
}

// slips refuses members whose names resemble those of known members: a misspelt check would let wrong tables pass.
func slips(further furtherMembers, of any, at string) []engine.ConfigError {
	var faults []engine.ConfigError
	for _, name := range slices.Sorted(maps.Keys(further)) {
		fault := engine.UnknownMember(at+engine.Pointer(name), reflect.TypeOf(of))
		if annotations[name] {
			continue
		}
		if fault.Meant == "" && reflect.TypeOf(of) == reflect.TypeFor[fieldConfig]() {
			fault = misplaced(at + engine.Pointer(name))
		}
		if fault.Meant != "" {
			faults = append(faults, fault)
		}
	}
	return faults
}

// misplaced is the fault of a constraint that is a direct member of a field.
func misplaced(at string) engine.ConfigError {
	fault := engine.UnknownMember(at, reflect.TypeFor[constraints]())
	name := at[strings.LastIndexByte(at, '/')+1:]
	switch {
	case engine.HasMember(reflect.TypeFor[constraints](), name):
		fault.Meant = "constraints"
		fault.Detail = `belongs in "constraints", where it is checked`
	case fault.Meant != "":
		fault.Detail += ` It belongs in "constraints"`
	}
	return fault
}

// slips are those of a schema and of its fields.
func (s *schemaConfig) slips() []engine.ConfigError {
	faults := slips(s.Further, *s, "/schema")
	for i, field := range s.Fields {
		at := engine.Pointer("schema", "fields", strconv.Itoa(i))
		faults = append(faults, slips(field.Further, field, at)...)
	}
	return faults
}

// maxWarnings bounds the warnings about one step.
const maxWarnings = 20

// Warnings says which members of the schema of a step check nothing although they may seem to.
func Warnings(config json.RawMessage, _ engine.Limits) []engine.ConfigError {
	var c stepConfig
	if len(engine.DecodeConfig(config, &c)) > 0 {
		return nil
	}
	doubts := doubtful(c.Schema.Further, "/schema")
	for i, field := range c.Schema.Fields {
		at := engine.Pointer("schema", "fields", strconv.Itoa(i))
		doubts = append(doubts, doubtful(field.Further, at)...)
	}
	if more := len(doubts) - maxWarnings; more > 0 {
		words := engine.Plural(more, "more member checks nothing", "more members check nothing")
		doubts = append(doubts[:maxWarnings], engine.NewConfigError("/schema", codeUnknownMember, words))
	}
	return doubts
}

const codeUnknownMember = "schema.unknown_member"

// doubtful returns the members that no specification knows.
func doubtful(further furtherMembers, at string) []engine.ConfigError {
	var doubts []engine.ConfigError
	for _, name := range slices.Sorted(maps.Keys(further)) {
		if annotations[name] {
			continue
		}
		detail := engine.Quote(name) + " is not a member of Table Schema, so it is ignored"
		doubts = append(doubts, engine.NewConfigError(at+engine.Pointer(name), codeUnknownMember, detail))
	}
	return doubts
}
