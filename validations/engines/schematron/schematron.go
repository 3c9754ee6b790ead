// Package schematron is the engine of schematron steps: it checks XML documents by the rules of a Schematron schema
// (ISO/IEC 19757-3) whose expressions are those of XPath 1.
package schematron

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
	"github.com/simplevalidations/simplevalidations/validations/engines/xpath"
)

// stepConfig is the configuration of a schematron step.
type stepConfig struct {
	// Schema is the text of a Schematron schema.
	Schema string `json:"schema"`
	// Phase is the phase whose patterns are active. Without it that is the default phase of the schema.
	Phase string `json:"phase,omitempty"`
}

// Engine checks documents by one phase of a schema.
type Engine struct {
	limits engine.Limits
	schema *schema
}

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(config json.RawMessage, limits engine.Limits) (*Engine, []engine.ConfigError) {
	var c stepConfig
	if faults := engine.DecodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	if c.Schema == "" {
		return nil, engine.Refuse("/schema", "schema.missing", "the text of a Schematron schema is needed")
	}
	s, faults := compileSchema(c, limits)
	if len(faults) > 0 {
		return nil, faults
	}
	return &Engine{limits, s}, nil
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	if err := ctx.Err(); err != nil {
		return engine.Report{}, fmt.Errorf("check by Schematron: %w", err)
	}
	c := engine.NewCollector(e.limits)
	if doc.Size > e.limits.MaxTreeBytes {
		message := fmt.Sprintf("the document has %d bytes, at most %d are checked", doc.Size, e.limits.MaxTreeBytes)
		c.Add("", engine.Failure("xml.too_large", message))
		return c.Finish(), nil
	}
	content, err := doc.ReadAll()
	if err != nil {
		return engine.Report{}, err
	}
	document, lines, malformed := read(content, e.limits)
	if malformed != nil {
		c.Add("", *malformed)
		return c.Finish(), nil
	}
	work := xpath.NewWork(e.limits.MaxXPathWork, ctx.Err)
	r := &run{scope: xpath.NewScope(document, work), work: work, root: document.Root, lines: lines, collector: c}
	r.check(e.schema)
	if err := work.Err(); err != nil {
		return engine.Report{}, fmt.Errorf("check by Schematron: %w", err)
	}
	return c.Finish(), nil
}

// read returns a well-formed document, or a finding that says why it is not well-formed.
func read(content []byte, limits engine.Limits) (*xpath.Document, *engine.Lines, *engine.Finding) {
	text, fault := xmltext.Decode(content)
	lines := engine.NewLines(text, limits.MaxExcerpt)
	var document *xpath.Document
	if fault == nil {
		document, fault = xpath.Read(text, limits)
	}
	if fault == nil {
		return document, lines, nil
	}
	f := lines.PlaceAt(engine.Failure(fault.Code, fault.Message), fault.At)
	return nil, nil, &f
}

// maxPromises is how many rules a description lists.
const maxPromises = 100

// Describe says what a step demands of documents.
func Describe(config json.RawMessage) []engine.Promise {
	e, faults := Compile(config, engine.DefaultLimits())
	if len(faults) > 0 {
		return nil
	}
	promises := []engine.Promise{{Words: "the document is well-formed XML"}}
	for _, p := range e.schema.patterns {
		for _, r := range p.rules {
			for _, one := range r.checks {
				promises = append(promises, one.promise(r.source))
			}
		}
	}
	if more := len(promises) - 1 - maxPromises; more > 0 {
		words := engine.Plural(more, "more rule", "more rules") + " of the Schematron schema"
		promises = append(promises[:maxPromises+1], engine.Promise{Words: words})
	}
	return promises
}

// promise is what a check demands of each node that its rule is for.
func (c *check) promise(where string) engine.Promise {
	expression := c.source
	if c.isReport {
		expression = "not(" + expression + ")"
	}
	p := engine.Promise{Subject: c.id, Expression: where + ": " + expression, Severity: c.severity}
	for _, part := range c.message {
		p.Otherwise += part.placeholder()
	}
	p.Otherwise = strings.Join(strings.Fields(p.Otherwise), " ")
	return p
}
