// Command ids is the program of ids steps: it checks IFC models, as STEP physical files, by an Information Delivery
// Specification (IDS 1.0 of buildingSMART). The service runs it for one request (package port).
//
// The text of the specification is read and audited when a workflow is saved. A model is read once, as a stream: only
// what the specification asks for is kept, which leaves out nearly all geometry.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
)

func main() {
	port.Serve(Program{})
}

// Bounds of a check: the bytes of a text and of a model, the memory for what is kept of a model, and the bytes that are
// read and the objects that are visited.
const (
	maxText  = 1 << 20
	maxModel = 1 << 30
	maxHeld  = 256 << 20
	maxWork  = 2_000_000_000
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

// Check checks a model.
func (Program) Check(request port.Request, document io.Reader) (port.Report, error) {
	checker, faults := Compile(request.Config)
	if len(faults) > 0 {
		return port.Report{}, fmt.Errorf("the configuration is wrong: %s %s", faults[0].Pointer, faults[0].Detail)
	}
	return checker.Check(request, document)
}

// Checker checks models by the specifications of one text.
type Checker struct {
	// MaxWork bounds what a check may cost, in bytes read and objects visited, MaxHeld the memory for what it keeps.
	MaxWork, MaxHeld int64
	specifications   []*specification
	schemas          schemas
}

// schemas reads the facts of each schema once, when they are needed first.
type schemas map[string]func() (*ifc.Schema, error)

func newSchemas() schemas {
	all := schemas{}
	for _, name := range ifc.Names() {
		all[name] = sync.OnceValues(func() (*ifc.Schema, error) { return ifc.Load(name) })
	}
	return all
}

// Compile checks a configuration and returns its checker, or everything that is wrong with it.
func Compile(config json.RawMessage) (*Checker, []port.Fault) {
	texts, faults := findings.Texts(config, "ids")
	if len(faults) > 0 {
		return nil, faults
	}
	if texts["ids"] == "" {
		return nil, findings.Refuse("/ids", "ids.missing",
			"the text of an Information Delivery Specification is needed")
	}
	all := newSchemas()
	specifications, faults := readText(texts["ids"], all)
	if len(faults) > 0 {
		return nil, faults
	}
	return &Checker{maxWork, maxHeld, specifications, all}, nil
}

// Check checks one model.
func (c *Checker) Check(request port.Request, document io.Reader) (port.Report, error) {
	found := findings.NewCollector(request.Limits)
	if request.Size > maxModel {
		message := fmt.Sprintf("the model has %d bytes, at most %d are checked", request.Size, maxModel)
		found.Add("", findings.Failure("step.too_large", message))
		return found.Finish(), nil
	}
	r, fault, err := c.read(document, request.Size, found)
	if err != nil {
		return port.Report{}, err
	}
	if fault != nil {
		found.Add("", *fault)
		return found.Finish(), nil
	}
	r.Report(found)
	for _, s := range c.specifications {
		r.check(s)
	}
	if err := r.work.Err(); err != nil {
		return port.Report{}, err
	}
	return found.Finish(), nil
}

// read reads what the specifications need of a model.
func (c *Checker) read(document io.Reader, size int64, found *findings.Collector) (*run, *port.Finding, error) {
	r := &run{
		work: model.NewWork(c.MaxWork), collector: found,
		classes: map[*entityFacet]*classes{}, attributes: map[*attributeFacet][][]int{},
	}
	choose := func(name string) (*ifc.Schema, []bool, error) {
		schema, err := c.schemas[name]()
		if err != nil {
			return nil, nil, err
		}
		r.schema = schema
		return schema, newPlan(r, c.specifications), nil
	}
	var fault *port.Finding
	var err error
	r.Model, fault, err = model.Read(document, size, c.MaxHeld, r.work, choose)
	return r, fault, err
}

// maxPromises is how many requirements a description lists.
const maxPromises = 100

// promises are what the specifications demand of models.
func (c *Checker) promises() []port.Promise {
	promises := []port.Promise{{Words: "the document is an IFC model as a STEP physical file"}}
	for _, s := range c.specifications {
		promises = append(promises, s.promises()...)
	}
	if more := len(promises) - 1 - maxPromises; more > 0 {
		words := findings.Plural(more, "more requirement", "more requirements") + " of the specifications"
		promises = append(promises[:maxPromises+1], port.Promise{Words: words})
	}
	for i := range promises {
		p := &promises[i]
		p.Subject, p.Words = findings.ClipTo(p.Subject, findings.MaxMessage), findings.ClipTo(p.Words, findings.MaxRule)
		p.Otherwise = findings.ClipTo(p.Otherwise, findings.MaxMessage)
	}
	return promises
}
