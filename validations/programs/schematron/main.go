// Command schematron is the program of schematron steps: it checks XML documents by the rules of a Schematron schema
// (ISO/IEC 19757-3) whose expressions are those of XPath 1. The service runs it for one request (package port).
// Started by people as "schematron bundle FILE", it writes that schema with what it includes.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/charset"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

func main() {
	const argumentsOfBundle = 3
	if len(os.Args) != argumentsOfBundle || os.Args[1] != "bundle" {
		port.Serve(Program{})
	}
	if err := bundle(os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "schematron:", err)
		os.Exit(1)
	}
}

// Bounds of a check: the bytes of a schema and of a document, and the nodes that are visited and bytes that are read.
const (
	maxSchema   = 1 << 20
	maxDocument = 16 << 20
	maxWork     = 200_000_000
)

// Program answers the service.
type Program struct{}

// Configure says what is wrong with a configuration, or what it demands of documents.
func (Program) Configure(config json.RawMessage) ([]port.Fault, []port.Promise) {
	checker, faults := Compile(config)
	if len(faults) > 0 {
		return faults, nil
	}
	return nil, checker.promises()
}

// Check checks a document.
func (Program) Check(request port.Request, document io.Reader) (port.Report, error) {
	checker, faults := Compile(request.Config)
	if len(faults) > 0 {
		return port.Report{}, fmt.Errorf("the configuration is wrong: %s %s", faults[0].Pointer, faults[0].Detail)
	}
	return checker.Check(request, document)
}

// Checker checks documents by one phase of a schema.
type Checker struct {
	// MaxWork bounds what a check may cost, in nodes visited and bytes read.
	MaxWork int64
	schema  *schema
}

// Compile checks a configuration and returns its checker, or everything that is wrong with it.
func Compile(config json.RawMessage) (*Checker, []port.Fault) {
	texts, faults := findings.Texts(config, "schema", "phase")
	if len(faults) > 0 {
		return nil, faults
	}
	if texts["schema"] == "" {
		return nil, findings.Refuse("/schema", "schema.missing", "the text of a Schematron schema is needed")
	}
	s, faults := compileSchema(texts["schema"], texts["phase"])
	if len(faults) > 0 {
		return nil, faults
	}
	return &Checker{maxWork, s}, nil
}

// Check checks one document.
func (c *Checker) Check(request port.Request, document io.Reader) (port.Report, error) {
	found := findings.NewCollector(request.Limits)
	if request.Size > maxDocument {
		message := fmt.Sprintf("the document has %d bytes, at most %d are checked", request.Size, maxDocument)
		found.Add("", findings.Failure("xml.too_large", message))
		return found.Finish(), nil
	}
	content := make([]byte, request.Size)
	if _, err := io.ReadFull(document, content); err != nil {
		return port.Report{}, fmt.Errorf("read the document: %w", err)
	}
	text, fault := charset.Decode(content)
	lines := findings.NewLines(text)
	var tree *xpath.Document
	if fault == nil {
		tree, fault = xpath.Read(text)
	}
	if fault != nil {
		f := findings.Failure(fault.Code, fault.Message)
		found.Add("", lines.Place(f, fault.Offset, request.Limits.Excerpt))
		return found.Finish(), nil
	}
	work := xpath.NewWork(c.MaxWork)
	r := &run{
		scope: xpath.NewScope(tree, work), work: work, root: tree.Root, lines: lines, collector: found,
		excerpt: request.Limits.Excerpt,
	}
	r.check(c.schema)
	if err := work.Err(); err != nil {
		return port.Report{}, err
	}
	return found.Finish(), nil
}

// maxPromises is how many rules a description lists.
const maxPromises = 100

// promises are what a schema demands of documents.
func (c *Checker) promises() []port.Promise {
	promises := []port.Promise{{Words: "the document is well-formed XML"}}
	for _, p := range c.schema.patterns {
		for _, r := range p.rules {
			for _, one := range r.checks {
				promises = append(promises, one.promise(r.source))
			}
		}
	}
	if more := len(promises) - 1 - maxPromises; more > 0 {
		words := findings.Plural(more, "more rule", "more rules") + " of the Schematron schema"
		promises = append(promises[:maxPromises+1], port.Promise{Words: words})
	}
	return promises
}

// promise is what a check demands of each node that its rule is for.
func (c *check) promise(where string) port.Promise {
	expression := c.source
	if c.isReport {
		expression = "not(" + expression + ")"
	}
	expression = findings.ClipTo(where+": "+expression, findings.MaxRule)
	p := port.Promise{Subject: c.id, Expression: expression, Severity: c.severity}
	for _, part := range c.message {
		p.Otherwise += part.placeholder()
	}
	p.Otherwise = findings.ClipTo(strings.Join(strings.Fields(p.Otherwise), " "), findings.MaxMessage)
	return p
}
