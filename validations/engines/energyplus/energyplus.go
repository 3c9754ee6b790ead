// Package energyplus is the engine of energyplus steps: it checks IDF and epJSON models without a simulation.
//
// Package model reads a model and checks it by the data dictionary of its version. This package has what EnergyPlus
// demands beyond its dictionary, of schedules and surfaces.
package energyplus

import (
	"context"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"
	"sync"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// Engine checks models for EnergyPlus without a simulation.
type Engine struct {
	limits   engine.Limits
	versions []string
	// required is nil where the dictionary of the version says what a model needs.
	required   [][]string
	severities map[string]engine.Severity
	rules      []modelRule
	// dictionaries read the dictionary of a version once, at its first model.
	dictionaries map[string]func() *model.Dictionary
}

// modelRun is the state of one run over one model.
type modelRun struct {
	*model.Findings

	engine  *Engine
	version string
	// compared are pairs of constructions on the two sides of a wall.
	compared map[[2]*construction]bool
}

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(c Config, limits engine.Limits) (*Engine, []engine.ConfigError) {
	rules, faults := compileModelRules(c.Rules, limits)
	e := &Engine{
		limits:       limits,
		versions:     c.Versions,
		required:     c.RequiredObjects,
		severities:   c.severities(),
		rules:        rules,
		dictionaries: map[string]func() *model.Dictionary{},
	}
	for _, version := range model.Versions() {
		e.dictionaries[version] = sync.OnceValue(func() *model.Dictionary { return model.LoadDictionary(version) })
	}
	if len(c.Versions) == 0 {
		e.versions = model.Versions()
	}
	return e, append(c.check(), faults...)
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	read := func() (*model.Model, *engine.Finding, error) { return e.read(doc) }
	return engine.Judge(ctx, e.limits, read, func(m *model.Model, c *engine.Collector) error {
		return e.judge(ctx, m, c)
	})
}

func (e *Engine) judge(ctx context.Context, m *model.Model, c *engine.Collector) error {
	r := &modelRun{
		Findings: model.NewFindings(m, e.severities, e.limits), engine: e, compared: map[[2]*construction]bool{},
	}
	var err error
	// Without a dictionary of its version, or with fields that are not those that were meant, nothing else is certain.
	certain := r.readVersion() && r.CheckCommas()
	if certain {
		err = r.check(ctx)
	}
	r.Report(c)
	if certain && err == nil {
		err = r.checkRules(ctx, c)
	}
	return err
}

// check looks for all faults.
func (r *modelRun) check(ctx context.Context) error {
	for _, check := range []func(){
		func() { r.CheckObjects(r.engine.required) }, r.checkValues, r.CheckNames, r.checkZones, r.checkSurfaces,
		r.checkSchedules,
	} {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("check model: %w", err)
		}
		check()
	}
	return nil
}

// read reads a document in the form that its type or name says, else in the one that its first character shows.
func (e *Engine) read(doc engine.Document) (*model.Model, *engine.Finding, error) {
	isIDF, err := looksLikeIDF(doc)
	if err != nil {
		return nil, nil, err
	}
	if !isIDF {
		t, unreadable, err := tree.Read(doc, e.limits)
		if err != nil || unreadable != nil {
			return nil, unreadable, err
		}
		m, unreadable := model.ReadEpJSON(t)
		return m, unreadable, nil
	}
	read := func(content []byte) (*model.Model, []byte, *engine.ReadError) {
		content = engine.TrimBOM(content)
		m, fault := model.ReadIDF(content, e.limits)
		return m, content, fault
	}
	return engine.ReadText(doc, e.limits.MaxTreeBytes, "energyplus", e.limits, read)
}

func looksLikeIDF(doc engine.Document) (bool, error) {
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err == nil && (strings.HasSuffix(mediaType, "/json") || strings.HasSuffix(mediaType, "+json")) {
		return false, nil
	}
	switch strings.ToLower(path.Ext(doc.Filename)) {
	case ".idf":
		return true, nil
	case ".epjson", ".json":
		return false, nil
	}
	const window = 512
	head := make([]byte, min(window, doc.Size))
	if _, err := io.ReadFull(io.NewSectionReader(doc.Content, 0, int64(len(head))), head); err != nil {
		return false, fmt.Errorf("read document: %w", err)
	}
	return !strings.HasPrefix(strings.TrimLeft(string(engine.TrimBOM(head)), " \t\r\n"), "{"), nil
}
