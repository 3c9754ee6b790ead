// Package energyplus is the engine of energyplus steps: it checks IDF and epJSON models without a simulation.
package energyplus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// The checks of an energyplus step, by the names that its configuration knows them by.
const (
	checkVersion         = "version"
	checkRequiredObjects = "required_objects"
	checkUniqueNames     = "unique_names"
	checkReferences      = "references"
	checkZoneSurfaces    = "zone_surfaces"
	checkFieldCounts     = "field_counts"
	checkEncoding        = "encoding"
)

// Engine checks models for EnergyPlus without a simulation.
type Engine struct {
	limits     engine.Limits
	versions   []string
	required   [][]string
	severities map[string]engine.Severity
	rules      []modelRule
}

// modelRun is the state of one run over one model.
type modelRun struct {
	engine *Engine
	model  *model
	issues []modelIssue
	// found counts the findings of each code, unlisted has those that are only counted.
	found    map[string]int
	unlisted map[string]*engine.Finding
}

// modelIssue is a finding whose line is not known yet.
type modelIssue struct {
	finding engine.Finding
	place   modelPlace
	at      engine.Position
}

// modelPlace is where in a model something stands: an offset of an IDF, a path of an epJSON. The path of what stands in
// an IDF is the one that epJSON has for it.
type modelPlace struct {
	offset int
	path   []string
	// none says that a finding is about the model as a whole.
	none bool
}

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(config json.RawMessage, limits engine.Limits) (*Engine, []engine.ConfigError) {
	var c stepConfig
	if faults := engine.DecodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	faults := append(c.checkVersions(), c.checkChecks()...)
	faults = append(faults, c.checkRequired()...)
	rules, found := compileModelRules(c.Rules, limits)
	e := &Engine{
		limits:     limits,
		versions:   c.Versions,
		required:   c.RequiredObjects,
		severities: c.severities(),
		rules:      rules,
	}
	if len(c.Versions) == 0 {
		e.versions = supportedVersions
	}
	if c.RequiredObjects == nil {
		e.required = requiredObjects
	}
	return e, append(faults, found...)
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	if err := ctx.Err(); err != nil {
		return engine.Report{}, fmt.Errorf("check model: %w", err)
	}
	c := engine.NewCollector(e.limits)
	m, unreadable, err := e.read(doc)
	if err != nil {
		return engine.Report{}, err
	}
	if unreadable != nil {
		c.Add("", *unreadable)
		return c.Finish(), nil
	}
	r := &modelRun{engine: e, model: m, found: map[string]int{}, unlisted: map[string]*engine.Finding{}}
	for _, check := range []func(){
		r.checkEncoding, r.checkVersion, r.checkRequired, r.checkNames, r.checkReferences, r.checkZones,
		r.checkFieldCounts,
	} {
		if err := ctx.Err(); err != nil {
			return engine.Report{}, fmt.Errorf("check model: %w", err)
		}
		check()
	}
	r.report(c)
	if err := r.checkRules(ctx, c); err != nil {
		return engine.Report{}, err
	}
	return c.Finish(), nil
}

// read reads a document in the form that its type or name says, else in the one that its first character shows.
func (e *Engine) read(doc engine.Document) (*model, *engine.Finding, error) {
	isIDF, err := looksLikeIDF(doc)
	if err != nil {
		return nil, nil, err
	}
	if !isIDF {
		t, unreadable, err := tree.Read(doc, e.limits)
		if err != nil || unreadable != nil {
			return nil, unreadable, err
		}
		m, unreadable := epJSONModel(t, knownClasses)
		return m, unreadable, nil
	}
	if doc.Size > e.limits.MaxTreeBytes {
		message := fmt.Sprintf("the model has %d bytes, at most %d are checked", doc.Size, e.limits.MaxTreeBytes)
		return nil, &engine.Finding{Severity: engine.SeverityError, Code: "energyplus.too_large", Message: message}, nil
	}
	content := make([]byte, doc.Size)
	if _, err := io.ReadFull(io.NewSectionReader(doc.Content, 0, doc.Size), content); err != nil {
		return nil, nil, fmt.Errorf("read document: %w", err)
	}
	m, unreadable := idfModel(engine.TrimBOM(content), knownClasses, e.limits)
	return m, unreadable, nil
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

// find adds a finding of a check, unless the check is off. What comes too often is only counted, without a message.
func (r *modelRun) find(check, code string, at modelPlace, message func() string) {
	severity, on := r.engine.severities[check]
	if !on {
		return
	}
	code = "energyplus." + code
	if r.full(code) {
		r.countUnlisted(severity, code, at)
		return
	}
	f := engine.Finding{Severity: severity, Code: code, Message: message(), Path: engine.Pointer(at.path...)}
	r.found[code]++
	one := modelIssue{finding: f, place: at, at: engine.Position{Offset: at.offset}}
	if at.none {
		one.at = engine.Position{Line: engine.LineUnknown}
	}
	r.issues = append(r.issues, one)
}

// countUnlisted remembers where the first of them is.
func (r *modelRun) countUnlisted(severity engine.Severity, code string, at modelPlace) {
	f := r.unlisted[code]
	if f == nil {
		f = &engine.Finding{Severity: severity, Code: code, Path: engine.Pointer(at.path...)}
		r.unlisted[code] = f
	}
	f.Count++
}

// full says that more findings of a code are only counted.
func (r *modelRun) full(code string) bool {
	return r.found[code] >= r.engine.limits.MaxPerCheck
}
