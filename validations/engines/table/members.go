package table

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tableschema"
)

// annotations are members for people and other programs: those of the specification, and those that publishers use in
// addition. They check nothing.
var annotations = []string{
	"$schema", "author", "categoriesOrdered", "comment", "comments", "contact", "contributor", "contributors",
	"countryCode", "countrycode", "created", "datapackage", "description", "example", "examples", "floatNumber",
	"homepage", "id", "image", "keywords", "lastModified", "licenses", "mediatype", "name", "package", "path",
	"profile", "profiles", "rdfType", "reference", "references", "resource", "resources", "sources", "status", "title",
	"unit", "units", "updated", "uri", "url", "version",
}

// eachFurther calls visit for the members of the schema and of its fields that this engine does not know, with the type
// of the object that has them.
func (s *schemaConfig) eachFurther(visit func(at, name string, of reflect.Type)) {
	walk := func(at string, further tableschema.Further, of reflect.Type) {
		for _, name := range slices.Sorted(maps.Keys(further)) {
			if !slices.Contains(annotations, name) {
				visit(at+engine.Pointer(name), name, of)
			}
		}
	}
	walk("/schema", s.Further, reflect.TypeFor[schemaConfig]())
	for i, field := range s.Fields {
		at := engine.Pointer("schema", "fields", strconv.Itoa(i))
		walk(at, field.Further, reflect.TypeFor[tableschema.Field]())
	}
}

// slips refuses members whose names resemble those of known members: a misspelt check would let wrong tables pass.
func (s *schemaConfig) slips() []engine.ConfigError {
	var faults []engine.ConfigError
	s.eachFurther(func(at, _ string, of reflect.Type) {
		fault := engine.UnknownMember(at, of)
		if fault.Meant == "" && of == reflect.TypeFor[tableschema.Field]() {
			fault = misplaced(at)
		}
		if fault.Meant != "" {
			faults = append(faults, fault)
		}
	})
	return faults
}

// misplaced is the fault of a constraint that is a direct member of a field.
func misplaced(at string) engine.ConfigError {
	fault := engine.UnknownMember(at, reflect.TypeFor[tableschema.Constraints]())
	name := at[strings.LastIndexByte(at, '/')+1:]
	switch {
	case engine.HasMember(reflect.TypeFor[tableschema.Constraints](), name):
		fault.Meant = "constraints"
		fault.Detail = `belongs in "constraints", where it is checked`
	case fault.Meant != "":
		fault.Detail += ` It belongs in "constraints"`
	}
	return fault
}

// Warnings says which members of the schema of a step check nothing although they may seem to.
func Warnings(c Config, _ engine.Limits) []engine.ConfigError {
	var doubts []engine.ConfigError
	c.Schema.eachFurther(func(at, name string, _ reflect.Type) {
		detail := engine.Quote(name) + " is not a member of Table Schema, so it is ignored"
		doubts = append(doubts, engine.NewConfigError(at, codeUnknownMember, detail))
	})
	return engine.FewWarnings(doubts, codeUnknownMember)
}

const codeUnknownMember = "schema.unknown_member"
