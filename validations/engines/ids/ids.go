// Package ids is the engine of ids steps: it checks IFC models, as STEP physical files, by an Information Delivery
// Specification (IDS 1.0 of buildingSMART).
//
// The text of the specification is read and audited when a workflow is saved. A model is read once, as a stream: only
// what the specification asks for is kept, which leaves out nearly all geometry.
package ids

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/engines/step"
)

// stepConfig is the configuration of an ids step.
type stepConfig struct {
	// Text is that of an Information Delivery Specification.
	Text string `json:"ids"`
}

// Engine checks models by the specifications of one text.
type Engine struct {
	limits         engine.Limits
	specifications []*specification
	schemas        schemas
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

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(config json.RawMessage, limits engine.Limits) (*Engine, []engine.ConfigError) {
	var c stepConfig
	if faults := engine.DecodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	if c.Text == "" {
		return nil, engine.Refuse("/ids", "ids.missing", "the text of an Information Delivery Specification is needed")
	}
	all := newSchemas()
	specifications, faults := readText(c.Text, all, limits)
	if len(faults) > 0 {
		return nil, faults
	}
	return &Engine{limits, specifications, all}, nil
}

// Run checks one model.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	if err := ctx.Err(); err != nil {
		return engine.Report{}, fmt.Errorf("check model: %w", err)
	}
	c := engine.NewCollector(e.limits)
	if doc.Size > e.limits.MaxModelBytes {
		message := fmt.Sprintf("the model has %d bytes, at most %d are checked", doc.Size, e.limits.MaxModelBytes)
		c.Add("", engine.Failure("step.too_large", message))
		return c.Finish(), nil
	}
	w := &work{left: e.limits.MaxModelWork, most: e.limits.MaxModelWork, untilCheck: checkEvery, ended: ctx.Err}
	m, fault, err := e.readModel(ctx, doc, w)
	if err != nil {
		return engine.Report{}, fmt.Errorf("check model: %w", err)
	}
	if fault != nil {
		c.Add("", fault.Finding(doc.Content, e.limits))
		return c.Finish(), nil
	}
	r := &run{model: m, collector: c, source: doc.Content, limits: e.limits}
	r.reportModel()
	for _, s := range e.specifications {
		r.check(s)
	}
	if w.err != nil {
		return engine.Report{}, fmt.Errorf("check model: %w", w.err)
	}
	return c.Finish(), nil
}

// maxPromises is how many requirements a description lists.
const maxPromises = 100

// Describe says what a step demands of documents.
func Describe(config json.RawMessage) []engine.Promise {
	e, faults := Compile(config, engine.DefaultLimits())
	if len(faults) > 0 {
		return nil
	}
	promises := []engine.Promise{{Words: "the document is an IFC model as a STEP physical file"}}
	for _, s := range e.specifications {
		promises = append(promises, s.promises()...)
	}
	if more := len(promises) - 1 - maxPromises; more > 0 {
		words := engine.Plural(more, "more requirement", "more requirements") + " of the specifications"
		promises = append(promises[:maxPromises+1], engine.Promise{Words: words})
	}
	return promises
}

// work bounds what the check of one model costs. A unit is a byte that is read, or an object that is visited.
type work struct {
	left, most int64
	untilCheck int64
	ended      func() error
	err        error
}

// checkEvery is how much work is done between two looks at the context.
const checkEvery = 1 << 20

// spend charges work. It returns false when the budget is used up.
func (w *work) spend(units int) bool {
	if w.err != nil {
		return false
	}
	w.left -= int64(units)
	w.untilCheck -= int64(units)
	if w.left < 0 {
		reason := fmt.Sprintf("needed to read more than %d bytes and objects of the model", w.most)
		w.err = &engine.ExhaustedError{Reason: reason}
		return false
	}
	if w.untilCheck < 0 {
		w.untilCheck = checkEvery
		w.err = w.ended()
	}
	return w.err == nil
}

// place is where an object begins.
func (m *model) place(object int) step.Place {
	return m.file.At(object).Place()
}
