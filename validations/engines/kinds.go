package engines

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/http"
	"github.com/simplevalidations/simplevalidations/validations/engines/ids"
	"github.com/simplevalidations/simplevalidations/validations/engines/rules"
	"github.com/simplevalidations/simplevalidations/validations/engines/schema"
	"github.com/simplevalidations/simplevalidations/validations/engines/schematron"
	"github.com/simplevalidations/simplevalidations/validations/engines/table"
	"github.com/simplevalidations/simplevalidations/validations/engines/xml"
)

// The kinds of engines.
const (
	KindEnergyPlus = "energyplus"
	KindHTTP       = "http"
	KindIDS        = "ids" //nolint:revive // IDS is the name of a standard, and not several ids.
	KindJSONSchema = "json_schema"
	KindRules      = "rules"
	KindSchematron = "schematron"
	KindTable      = "table"
	KindXML        = "xml"
)

// CodeUnknownKind is the code of the fault that Compile finds in a kind that it does not know.
const CodeUnknownKind = "config.kind"

// kind is all that the product knows about one kind of engine.
type kind struct {
	name string
	// title is what people call it.
	title   string
	compile func(config json.RawMessage, limits Limits) (Engine, []ConfigError)
	// describe says what a step demands of documents. It says nothing about a configuration that cannot be read.
	describe func(config json.RawMessage) []Promise
}

// kinds registers every engine, sorted by name. A new one is a line here.
var kinds = []kind{
	{KindEnergyPlus, "EnergyPlus model", compiler(energyplus.Compile), energyplus.Describe},
	{KindHTTP, "Validator of another service", compiler(http.Compile), http.Describe},
	{KindIDS, "IFC model by IDS", compiler(ids.Compile), ids.Describe},
	{KindJSONSchema, "JSON Schema", compiler(schema.Compile), schema.Describe},
	{KindRules, "Rules", compiler(rules.Compile), rules.Describe},
	{KindSchematron, "Schematron", compiler(schematron.Compile), schematron.Describe},
	{KindTable, "Table", compiler(table.Compile), table.Describe},
	{KindXML, "XML", compiler(xml.Compile), xml.Describe},
}

// KindTitle is what people call a kind; a kind that is not known is called by its name.
func KindTitle(name string) string {
	if k, ok := kindOf(name); ok {
		return k.title
	}
	return name
}

// Describe says what a step of the kind demands. It says nothing about a configuration that cannot be read.
func Describe(name string, config json.RawMessage) []Promise {
	if k, ok := kindOf(name); ok {
		return k.describe(config)
	}
	return nil
}

// Check checks a configuration as Compile does, and tries what only a trial shows: whether xmllint can compile an XML
// Schema. Call it when a workflow is saved. The error is the end of the context or a failure of the trial itself.
func Check(ctx context.Context, name string, config json.RawMessage, limits Limits) ([]ConfigError, error) {
	e, faults := Compile(name, config, limits)
	if len(faults) > 0 {
		return append(faults, behind(name, config, limits, faults)...), nil
	}
	if tried, ok := e.(engine.Tried); ok {
		return tried.Try(ctx)
	}
	return nil, nil
}

// maxRepairs bounds how often a configuration is compiled to find what is wrong with it.
const maxRepairs = 20

// behind returns the faults that others hide: a configuration is not read beyond a member that is unknown or of the
// wrong type, so it is compiled again without it.
func behind(name string, config json.RawMessage, limits Limits, faults []ConfigError) []ConfigError {
	var more []ConfigError
	for range maxRepairs {
		repaired, ok := engine.Repair(config, faults)
		if !ok {
			break
		}
		config = repaired
		_, faults = Compile(name, config, limits)
		for _, fault := range faults {
			if !slices.Contains(more, fault) {
				more = append(more, fault)
			}
		}
	}
	return more
}

// Compile checks a configuration and returns its engine, or everything that is wrong with the configuration. It may
// take a second for the largest schema allowed, so call it when a workflow is published and keep the engine.
//
//nolint:ireturn // which engine it is depends on the kind
func Compile(name string, config json.RawMessage, limits Limits) (Engine, []ConfigError) {
	k, ok := kindOf(name)
	if !ok {
		return nil, engine.Refuse("", CodeUnknownKind, unknownKind(name))
	}
	return k.compile(config, limits)
}

func unknownKind(name string) string {
	detail := "unknown kind of validator " + engine.Quote(name)
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	if meant := engine.Nearest(name, names); meant != "" {
		return detail + "; did you mean " + meant + "?"
	}
	return detail + "; it is one of " + strings.Join(names, ", ")
}

func kindOf(name string) (kind, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// compiler turns the constructor of one engine into that of any, which returns the engine only where its configuration
// has no faults.
func compiler[E Engine](
	compile func(json.RawMessage, Limits) (E, []ConfigError),
) func(json.RawMessage, Limits) (Engine, []ConfigError) {
	return func(config json.RawMessage, limits Limits) (Engine, []ConfigError) {
		e, faults := compile(config, limits)
		if len(faults) > 0 {
			return nil, faults
		}
		return e, nil
	}
}

// MissingSchemas returns what the schemas of a json_schema step refer to and do not have, or why they cannot be read.
func MissingSchemas(config json.RawMessage, limits Limits) ([]schema.Missing, []ConfigError) {
	return schema.FindMissing(config, limits)
}

// Warnings says what a configuration that compiles probably does not mean. It never is a reason to refuse one.
func Warnings(name string, config json.RawMessage, limits Limits) []ConfigError {
	switch name {
	case KindJSONSchema:
		return schema.Warnings(config, limits)
	case KindTable:
		return table.Warnings(config)
	default:
		return nil
	}
}
