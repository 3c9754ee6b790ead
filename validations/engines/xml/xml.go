// Package xml is the engine of xml steps: it checks that a document is well-formed, and valid by an XML Schema.
package xml

import (
	"context"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// Config is the configuration of an xml step. Without a schema only the form of the document is checked.
type Config struct {
	// Schema is the text of an XML Schema.
	Schema string `json:"schema,omitempty"`
	// Schemas are the texts that it includes, imports and redefines, by their addresses.
	Schemas map[string]string `json:"schemas,omitempty"`
}

// Engine checks that a document is well-formed and, where it has a schema, valid.
type Engine struct {
	limits engine.Limits
	schema *schema
}

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(c Config, limits engine.Limits) (*Engine, []engine.ConfigError) {
	e := &Engine{limits: limits}
	if c.Schema == "" {
		if len(c.Schemas) > 0 {
			return nil, engine.Refuse("/schema", "schema.missing", "a schema that refers to these schemas is needed")
		}
		return e, nil
	}
	schema, faults := compileSchema(c, limits)
	if len(faults) > 0 {
		return nil, faults
	}
	e.schema = schema
	return e, nil
}

// Precheck lets xmllint compile the schema.
func (e *Engine) Precheck(ctx context.Context) ([]engine.ConfigError, error) {
	if e.schema == nil {
		return nil, nil
	}
	return e.schema.try(ctx)
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	wellFormed := func(content []byte) ([]byte, []byte, *engine.ReadError) {
		text, fault := xmltext.Decode(content)
		if fault == nil {
			fault = xmltext.NewReader(text, e.limits).Read()
		}
		return text, text, fault
	}
	read := func() ([]byte, *engine.Finding, error) {
		return engine.ReadText(doc, e.limits.MaxTreeBytes, "xml", e.limits, wellFormed)
	}
	return engine.Judge(ctx, e.limits, read, func(text []byte, c *engine.Collector) error {
		if e.schema == nil {
			return nil
		}
		return e.schema.check(ctx, text, c)
	})
}

// Describe says what a step demands of documents.
func Describe(c Config, _ engine.Limits) []engine.Requirement {
	requirements := []engine.Requirement{{Words: "the document is well-formed XML"}}
	if c.Schema != "" {
		valid := engine.Requirement{Words: "it is valid against the XML Schema of this step"}
		requirements = append(requirements, valid)
	}
	return requirements
}
