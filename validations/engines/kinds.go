package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/program"
	"github.com/simplevalidations/simplevalidations/validations/engines/rules"
	"github.com/simplevalidations/simplevalidations/validations/engines/schema"
	"github.com/simplevalidations/simplevalidations/validations/engines/table"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
	"github.com/simplevalidations/simplevalidations/validations/engines/xml"
)

// The kinds of engines.
const (
	KindEnergyPlus = "energyplus"
	KindHTTP       = "http"
	KindIDS        = "ids" //nolint:revive // IDS is the name of a standard, and not several ids.
	KindJSONSchema = "json_schema"
	KindProgram    = "program"
	KindRules      = "rules"
	KindSchematron = "schematron"
	KindTable      = "table"
	KindXML        = "xml"
)

// CodeUnknownKind is the code of the fault that Compile finds in a kind that it does not know.
const CodeUnknownKind = "config.kind"

// kind is all that the product knows about one kind of engine. TestKindsAreComplete demands every field but warn.
type kind struct {
	name string
	// title is what people call it.
	title   string
	compile func(config json.RawMessage, limits Limits) (Engine, []ConfigError)
	// describe says what a step demands of documents. It says nothing about a configuration that cannot be read.
	describe func(config json.RawMessage, limits Limits) []Requirement
	// weigh estimates the memory of a check (Weight).
	weigh func(mediaType string, size int64) int64
	// v1Type is the type of its steps for clients of /api/v1/: one of those that the existing client knows.
	v1Type string
	schema SchemaMember
	// warn finds what a configuration that compiles probably does not mean; nil finds nothing.
	warn func(config json.RawMessage, limits Limits) []ConfigError
}

// SchemaMember is the member of a configuration that holds a schema, which a workflow file may keep in a file of its
// own.
type SchemaMember struct {
	Name     string
	Language SchemaLanguage
}

// SchemaLanguage is what a schema is written in.
type SchemaLanguage int

// The languages of schemas.
const (
	// SchemaNone says that configurations hold no schema.
	SchemaNone SchemaLanguage = iota + 1
	SchemaJSON
	SchemaXML
)

// The programs that carry kinds with a name of their own.
//
//nolint:gochecknoglobals // They are constants of a type for which Go has none.
var (
	idsProgram        = program.Kind{Program: KindIDS, Weigh: weighModel}
	schematronProgram = program.Kind{Program: KindSchematron, Weigh: schematronWeight.any}
)

// kinds registers every engine, sorted by name.
var kinds = []kind{
	{
		name: KindEnergyPlus, title: "EnergyPlus model", v1Type: KindEnergyPlus,
		compile: compiler(energyplus.Compile), describe: reader(energyplus.Describe),
		weigh: energyPlusWeight.any, schema: SchemaMember{Language: SchemaNone},
	},
	{
		name: KindHTTP, title: "Validator of another service", v1Type: KindHTTP,
		compile: compiler(compileHTTP), describe: reader(describeHTTP),
		weigh: textWeight.any, schema: SchemaMember{Language: SchemaNone},
	},
	{
		name: KindIDS, title: "IFC model by IDS", v1Type: KindRules,
		compile: compiler(idsProgram.Compile), describe: reader(idsProgram.Describe),
		weigh: idsProgram.Weigh, schema: SchemaMember{Name: "ids", Language: SchemaXML},
	},
	{
		name: KindJSONSchema, title: "JSON Schema", v1Type: KindJSONSchema,
		compile: compiler(schema.Compile), describe: reader(schema.Describe), warn: reader(schema.Warnings),
		weigh: weighTree, schema: SchemaMember{Name: "schema", Language: SchemaJSON},
	},
	{
		name: KindProgram, title: "Program", v1Type: KindRules,
		compile: compiler(program.Compile), describe: reader(program.Describe),
		weigh: program.Weigh, schema: SchemaMember{Language: SchemaNone},
	},
	{
		name: KindRules, title: "Rules", v1Type: KindRules,
		compile: compiler(rules.Compile), describe: reader(rules.Describe),
		weigh: weighTree, schema: SchemaMember{Language: SchemaNone},
	},
	{
		name: KindSchematron, title: "Schematron", v1Type: KindXML,
		compile: compiler(schematronProgram.Compile), describe: reader(schematronProgram.Describe),
		weigh: schematronProgram.Weigh, schema: SchemaMember{Name: "schema", Language: SchemaXML},
	},
	{
		name: KindTable, title: "Table", v1Type: KindTable,
		compile: compiler(table.Compile), describe: reader(table.Describe), warn: reader(table.Warnings),
		weigh: weighTable, schema: SchemaMember{Name: "schema", Language: SchemaJSON},
	},
	{
		name: KindXML, title: "XML", v1Type: KindXML,
		compile: compiler(xml.Compile), describe: reader(xml.Describe),
		weigh: xmlWeight.any, schema: SchemaMember{Name: "schema", Language: SchemaXML},
	},
}

// KindTitle is what people call a kind; a kind that is not known is called by its name.
func KindTitle(name string) string { return kindOf(name).title }

// V1Type is the type of a step of the kind for clients of /api/v1/, which fail on types that they do not know.
func V1Type(name string) string { return kindOf(name).v1Type }

// SchemaOf says where the configurations of a kind hold a schema.
func SchemaOf(name string) SchemaMember { return kindOf(name).schema }

// Weight estimates how many bytes of memory an engine needs for a document, at most. Engines that read documents as
// streams, such as tables of text, need none that is worth counting.
func Weight(name, mediaType string, size int64) int64 {
	return kindOf(name).weigh(mediaType, size)
}

// Describe says what a step of the kind demands. It says nothing about a configuration that cannot be read.
func Describe(name string, config json.RawMessage) []Requirement {
	return kindOf(name).describe(config, DefaultLimits())
}

// Check checks a configuration as Compile does, and lets child processes judge what only they can: whether xmllint can
// compile an XML Schema, and the configurations of programs. Call it when a workflow is saved. The error is the end of
// the context, or that a child could not be run.
func Check(ctx context.Context, name string, config json.RawMessage, limits Limits) ([]ConfigError, error) {
	faults, err := examine(ctx, name, config, limits)
	if err != nil || len(faults) == 0 {
		return nil, err
	}
	more, err := behind(ctx, name, config, limits, faults)
	return append(faults, more...), err
}

func examine(ctx context.Context, name string, config json.RawMessage, limits Limits) ([]ConfigError, error) {
	e, faults := Compile(name, config, limits)
	prechecker, ok := e.(engine.Prechecker)
	if len(faults) > 0 || !ok {
		return faults, nil
	}
	faults, err := prechecker.Precheck(ctx)
	if failed, ok := errors.AsType[*engine.FailedError](err); ok {
		return engine.Refuse("", "program.failed", failed.Reason), nil
	}
	if exhausted, ok := errors.AsType[*engine.ExhaustedError](err); ok {
		return engine.Refuse("", "program.failed", "judging this "+exhausted.Reason), nil
	}
	return faults, err
}

// maxRepairs bounds how often a configuration is compiled to find what is wrong with it.
const maxRepairs = 20

// behind returns the faults that others hide: a configuration is not read beyond a member that is unknown or of the
// wrong type, so it is compiled again without it.
func behind(
	ctx context.Context, name string, config json.RawMessage, limits Limits, faults []ConfigError,
) ([]ConfigError, error) {
	var more []ConfigError
	for range maxRepairs {
		repaired, ok := engine.Repair(config, faults)
		if !ok {
			break
		}
		config = repaired
		var err error
		if faults, err = examine(ctx, name, config, limits); err != nil {
			return nil, err
		}
		for _, fault := range faults {
			if !slices.Contains(more, fault) {
				more = append(more, fault)
			}
		}
	}
	return more, nil
}

// Compile checks a configuration and returns its engine, or everything that is wrong with the configuration. It may
// take a second for the largest schema allowed, so call it when a workflow is published and keep the engine.
//
//nolint:ireturn // which engine it is depends on the kind
func Compile(name string, config json.RawMessage, limits Limits) (Engine, []ConfigError) {
	return kindOf(name).compile(config, limits)
}

func unknownKind(name string) string {
	detail := "unknown kind of validator " + engine.Quote(name)
	names := engine.Each(kinds, func(k kind) string { return k.name })
	return detail + cmp.Or(engine.DidYouMean(engine.Nearest(name, names)), "; it is one of "+strings.Join(names, ", "))
}

// kindOf returns a kind. One that is not known is called by its name, compiles nothing and has nothing to say.
func kindOf(name string) kind {
	if at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); at >= 0 {
		return kinds[at]
	}
	return kind{
		title: name, v1Type: name, schema: SchemaMember{Language: SchemaNone},
		compile: func(json.RawMessage, Limits) (Engine, []ConfigError) {
			return nil, engine.Refuse("", CodeUnknownKind, unknownKind(name))
		},
		describe: func(json.RawMessage, Limits) []Requirement { return nil },
		weigh:    func(string, int64) int64 { return 0 },
	}
}

// compiler turns the constructor of one engine into that of any, which reads the configuration and returns the engine
// only where that has no faults.
func compiler[C any, E Engine](
	compile func(config C, limits Limits) (E, []ConfigError),
) func(json.RawMessage, Limits) (Engine, []ConfigError) {
	return func(text json.RawMessage, limits Limits) (Engine, []ConfigError) {
		var config C
		if faults := engine.DecodeConfig(text, &config); len(faults) > 0 {
			return nil, faults
		}
		e, faults := compile(config, limits)
		if len(faults) > 0 {
			return nil, faults
		}
		return e, nil
	}
}

// reader turns what looks at the configurations of one engine into what reads them before.
func reader[C, T any](look func(config C, limits Limits) []T) func(json.RawMessage, Limits) []T {
	return func(text json.RawMessage, limits Limits) []T {
		var config C
		if len(engine.DecodeConfig(text, &config)) > 0 {
			return nil
		}
		return look(config, limits)
	}
}

// MissingSchemas returns what the schemas of a json_schema step refer to and do not have, or why they cannot be read.
func MissingSchemas(config json.RawMessage, limits Limits) ([]schema.Missing, []ConfigError) {
	return schema.FindMissing(config, limits)
}

// Warnings says what a configuration that compiles probably does not mean. It never is a reason to refuse one.
func Warnings(name string, config json.RawMessage, limits Limits) []ConfigError {
	if warn := kindOf(name).warn; warn != nil {
		return warn(config, limits)
	}
	return nil
}

// MissingPrograms returns the names of the product's own programs that are not installed.
func MissingPrograms(limits Limits) []string {
	return slices.DeleteFunc([]string{idsProgram.Program, tablefile.ParquetProgram, schematronProgram.Program},
		func(name string) bool { return program.IsInstalled(name, limits) })
}
