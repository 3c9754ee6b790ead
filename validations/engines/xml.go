package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// xmlConfig is the configuration of an xml step. Without a schema only the form of the document is checked.
type xmlConfig struct {
	// Schema is the text of an XML Schema.
	Schema string `json:"schema,omitempty"`
}

// xmlEngine checks that a document is well-formed and, where it has a schema, valid.
type xmlEngine struct {
	limits Limits
	schema *xmlSchema
}

func compileXML(config json.RawMessage, limits Limits) (*xmlEngine, []ConfigError) {
	var c xmlConfig
	if faults := decodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	engine := &xmlEngine{limits: limits}
	if c.Schema == "" {
		return engine, nil
	}
	schema, faults := compileXMLSchema(c.Schema, limits)
	if len(faults) > 0 {
		return nil, faults
	}
	engine.schema = schema
	return engine, nil
}

func (e *xmlEngine) try(ctx context.Context) ([]ConfigError, error) {
	if e.schema == nil {
		return nil, nil
	}
	return e.schema.try(ctx)
}

// Run checks one document.
func (e *xmlEngine) Run(ctx context.Context, doc Document) (Report, error) {
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("check XML: %w", err)
	}
	c := newCollector(e.limits)
	if doc.Size > e.limits.MaxTreeBytes {
		message := fmt.Sprintf("the document has %d bytes, at most %d are checked", doc.Size, e.limits.MaxTreeBytes)
		c.add("", Finding{Severity: SeverityError, Code: "xml.too_large", Message: message})
		return c.finish(), nil
	}
	content := make([]byte, doc.Size)
	if _, err := io.ReadFull(io.NewSectionReader(doc.Content, 0, doc.Size), content); err != nil {
		return Report{}, fmt.Errorf("read document: %w", err)
	}
	text, malformed := readXML(content, e.limits)
	if malformed != nil {
		c.add("", *malformed)
		return c.finish(), nil
	}
	if e.schema != nil {
		if err := e.schema.check(ctx, text, c); err != nil {
			return Report{}, err
		}
	}
	return c.finish(), nil
}

// readXML returns the text of a well-formed document, or why it is none.
func readXML(content []byte, limits Limits) ([]byte, *Finding) {
	text, fault := decodeXML(content)
	if fault == nil {
		fault = newXMLReader(text, limits).read()
	}
	if fault == nil {
		return text, nil
	}
	f := Finding{Severity: SeverityError, Code: fault.code, Message: fault.message}
	f = newLineIndex(text, limits.MaxExcerpt).placeAt(f, fault.at)
	return nil, &f
}
