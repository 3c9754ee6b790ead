package model

import (
	"maps"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Findings are what checks have found in a model.
type Findings struct {
	Model      *Model
	severities map[string]engine.Severity
	limits     engine.Limits
	issues     []issue
	// found counts the findings of each code, unlisted has those that are only counted.
	found    map[string]int
	unlisted map[string]engine.Finding
}

// issue is a finding whose line is not known yet.
type issue struct {
	finding engine.Finding
	// path is where the line of an epJSON is looked up.
	path []string
	at   engine.Position
}

// Finding is what a check has found.
type Finding struct {
	// Check may be empty: such a finding is always an error.
	Check, Code, Message string
	// Object is nil for a finding about the model as a whole, Field for one about the object.
	Object *Object
	Field  *Field
	// Missing is the end of the path of a field that is not there.
	Missing []string
	// At is the place of a finding that is about no object.
	At *engine.Position
}

// NewFindings returns no findings yet. The severities are those of the checks that are on.
func NewFindings(m *Model, severities map[string]engine.Severity, limits engine.Limits) *Findings {
	return &Findings{
		Model: m, severities: severities, limits: limits, found: map[string]int{},
		unlisted: map[string]engine.Finding{},
	}
}

// Find adds a finding, unless its check is off. What comes too often is only counted.
func (r *Findings) Find(found Finding) {
	severity, on := r.severities[found.Check]
	if found.Check == "" {
		severity, on = engine.SeverityError, true
	}
	if !on {
		return
	}
	code := "energyplus." + found.Code
	f := engine.Finding{Severity: severity, Code: code, Message: found.Message}
	if r.Full(found.Code) {
		f.Count = r.unlisted[code].Count + 1
		r.unlisted[code] = f
		return
	}
	r.found[code]++
	one := issue{at: engine.Position{Line: engine.LineUnknown}}
	if found.At != nil {
		one.at = *found.At
	}
	if found.Object != nil {
		one.path = r.Model.path(found.Object, found.Field)
		f.Path = engine.Pointer(append(slices.Clone(one.path), found.Missing...)...)
		one.at = engine.Position{Offset: found.Object.Offset}
		if found.Field != nil {
			one.at.Offset = found.Field.offset
		}
	}
	one.finding = f
	r.issues = append(r.issues, one)
}

// Add adds what a check has found in an object, or in one of its fields.
func (r *Findings) Add(check, code string, o *Object, f *Field, message string) {
	r.Find(Finding{Check: check, Code: code, Message: message, Object: o, Field: f})
}

// Full reports whether more findings of a code are only counted.
func (r *Findings) Full(code string) bool {
	return r.found["energyplus."+code] >= r.limits.MaxPerCheck
}

// Report places what was found and hands it over in the order of the document.
func (r *Findings) Report(c *engine.Collector) {
	if r.Model.source != nil {
		spots := r.Model.source.Spots(engine.Each(r.issues, func(one issue) []string { return one.path })...)
		for i := range r.issues {
			if r.issues[i].path != nil {
				r.issues[i].at = spots[i].Value
			}
		}
	}
	slices.SortStableFunc(r.issues, func(a, b issue) int { return engine.ComparePositions(a.at, b.at) })
	for _, one := range r.issues {
		c.Add("", r.Model.Lines.PlaceAt(one.finding, one.at))
	}
	for _, code := range slices.Sorted(maps.Keys(r.unlisted)) {
		f := r.unlisted[code]
		c.AddFolded("", f, f.Count, nil)
	}
}
