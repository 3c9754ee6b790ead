package energyplus

import (
	"maps"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// modelIssue is a finding whose line is not known yet.
type modelIssue struct {
	finding engine.Finding
	// path is where the line of an epJSON is looked up.
	path []string
	at   engine.Position
}

// modelFinding is what a check has found.
type modelFinding struct {
	// check may be empty: such a finding is always an error.
	check, code, message string
	// object is nil for a finding about the model as a whole, field for one about the object.
	object *modelObject
	field  *modelField
	// missing is the end of the path of a field that is not there.
	missing []string
	// at is the place of a finding that is about no object.
	at *engine.Position
}

// find adds a finding, unless its check is off. What comes too often is only counted.
func (r *modelRun) find(found modelFinding) {
	severity, on := r.engine.severities[found.check]
	if found.check == "" {
		severity, on = engine.SeverityError, true
	}
	if !on {
		return
	}
	code := "energyplus." + found.code
	f := engine.Finding{Severity: severity, Code: code, Message: found.message}
	if r.full(found.code) {
		f.Count = r.unlisted[code].Count + 1
		r.unlisted[code] = f
		return
	}
	r.found[code]++
	one := modelIssue{at: engine.Position{Line: engine.LineUnknown}}
	if found.at != nil {
		one.at = *found.at
	}
	if found.object != nil {
		one.path = r.model.path(found.object, found.field)
		f.Path = engine.Pointer(append(slices.Clone(one.path), found.missing...)...)
		one.at = engine.Position{Offset: found.object.offset}
		if found.field != nil {
			one.at.Offset = found.field.offset
		}
	}
	one.finding = f
	r.issues = append(r.issues, one)
}

// full reports whether more findings of a code are only counted.
func (r *modelRun) full(code string) bool {
	return r.found["energyplus."+code] >= r.engine.limits.MaxPerCheck
}

// report places what was found and hands it over in the order of the document.
func (r *modelRun) report(c *engine.Collector) {
	if r.model.source != nil {
		root := &tree.Spot{}
		spots := make([]*tree.Spot, 0, len(r.issues))
		for _, one := range r.issues {
			spots = append(spots, root.At(one.path))
		}
		r.model.source.Locate(root)
		for i := range r.issues {
			if r.issues[i].path != nil {
				r.issues[i].at = spots[i].Value
			}
		}
	}
	slices.SortStableFunc(r.issues, func(a, b modelIssue) int { return engine.ComparePositions(a.at, b.at) })
	for _, one := range r.issues {
		c.Add("", r.model.lines.PlaceAt(one.finding, one.at))
	}
	for _, code := range slices.Sorted(maps.Keys(r.unlisted)) {
		f := r.unlisted[code]
		c.AddFolded("", f, f.Count, nil)
	}
}
