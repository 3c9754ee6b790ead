package engines

import "encoding/json"

// The kinds of engines.
const (
	KindEnergyPlus = "energyplus"
	KindJSONSchema = "json_schema"
	KindRules      = "rules"
	KindTable      = "table"
	KindXML        = "xml"
	KindHTTP       = "http"
)

// CodeUnknownKind is the code of the fault that Compile finds in a kind that it does not know.
const CodeUnknownKind = "config.kind"

// engineKind is all that the product knows about one kind of engine.
type engineKind struct {
	name string
	// title is what people call it.
	title   string
	compile func(config json.RawMessage, limits Limits) (Engine, []ConfigError)
	// describe says what a step demands of documents. It says nothing about a configuration that cannot be read.
	describe func(config json.RawMessage) []Promise
}

// kinds registers every engine, sorted by name. A new one is a line here.
func kinds() []engineKind {
	return []engineKind{
		{KindEnergyPlus, "EnergyPlus model", compiler(compileEnergyPlus), describeEnergyPlus},
		{KindHTTP, "Validator of another service", compiler(compileHTTP), describeHTTP},
		{KindJSONSchema, "JSON Schema", compiler(compileSchema), describeSchema},
		{KindRules, "Rules", compiler(compileRules), describeRules},
		{KindTable, "Table", compiler(compileTable), describeTable},
		{KindXML, "XML", compiler(compileXML), describeXML},
	}
}

// Kinds returns the names of all kinds, sorted.
func Kinds() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
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

// Compile checks a configuration and returns its engine, or everything that is wrong with the configuration. It may
// take a second for the largest schema allowed, so call it when a workflow is published and keep the engine.
//
//nolint:ireturn // which engine it is depends on the kind
func Compile(name string, config json.RawMessage, limits Limits) (Engine, []ConfigError) {
	k, ok := kindOf(name)
	if !ok {
		return nil, []ConfigError{{Code: CodeUnknownKind, Detail: "unknown kind of validator " + quote(name)}}
	}
	return k.compile(config, limits)
}

func kindOf(name string) (engineKind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return engineKind{}, false
}

// compiler turns the constructor of one engine into that of any, which returns the engine only where its configuration
// has no faults.
func compiler[E Engine](
	compile func(json.RawMessage, Limits) (E, []ConfigError),
) func(json.RawMessage, Limits) (Engine, []ConfigError) {
	return func(config json.RawMessage, limits Limits) (Engine, []ConfigError) {
		engine, faults := compile(config, limits)
		if len(faults) > 0 {
			return nil, faults
		}
		return engine, nil
	}
}
