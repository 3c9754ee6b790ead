package rules

import (
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// ruleTally is how often one rule failed, or was not evaluated, and where.
type ruleTally struct {
	rule         *treeRule
	severity     engine.Severity
	notEvaluated bool
	listed       []ruleFailure
	unlisted     int
	// sample names the first places that are not listed.
	sample []string
}

// ruleFailure is one place where a rule failed. The last token of a missing place is the one that is missing.
type ruleFailure struct {
	path    []string
	missing bool
	message string
	spot    *tree.Spot
}

// full reports whether further failures are only counted.
func (t *ruleTally) full(limits engine.Limits) bool {
	return len(t.listed) >= limits.MaxPerCheck
}

func (t *ruleTally) add(limits engine.Limits, p treePlace, below []string, message string) {
	if !t.full(limits) {
		f := ruleFailure{path: slices.Concat(p.tokens, below), missing: p.state == placeMissing, message: message}
		t.listed = append(t.listed, f)
		return
	}
	t.unlisted++
	if len(t.sample) < engine.MaxSamplePaths {
		t.sample = append(t.sample, engine.Pointer(p.tokens...))
	}
}

// report turns the failures into findings, rule by rule and in the order of the document.
func (r *run) report(c *engine.Collector) {
	var paths [][]string
	for _, t := range r.tallies {
		paths = append(paths, engine.Each(t.listed, ruleFailure.located)...)
	}
	spots := r.document.Spots(paths...)
	for _, t := range r.tallies {
		for i := range t.listed {
			t.listed[i].spot, spots = spots[0], spots[1:]
		}
		slices.SortStableFunc(t.listed, func(a, b ruleFailure) int {
			return engine.ComparePositions(a.spot.Value, b.spot.Value)
		})
		for _, f := range t.listed {
			found := t.finding(f.message)
			found.Path = engine.Pointer(f.path...)
			c.Add(t.group(), r.document.Lines.PlaceAt(found, f.spot.Value))
		}
		if t.unlisted > 0 {
			c.AddFolded(t.group(), t.finding(""), t.unlisted, t.sample)
		}
	}
}

func (t *ruleTally) finding(message string) engine.Finding {
	return engine.Finding{Severity: t.severity, Code: "rule." + t.rule.id, Message: message, AssertionID: t.rule.id}
}

// located is the path of what exists: where something is missing, that is what should hold it.
func (f ruleFailure) located() []string {
	if f.missing {
		return f.path[:len(f.path)-1]
	}
	return f.path
}
