package table

import (
	"github.com/simplevalidations/simplevalidations/validations/engines/ecma"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// wholePattern is a regular expression that the whole of a value must match: one of RE2, or else one of ECMA-262, which
// has look-around and back-references.
type wholePattern struct {
	// text is the pattern as the schema has it.
	text   string
	linear *engine.Pattern
	search *ecma.Pattern
}

func compilePattern(text string, limits engine.Limits) (*wholePattern, error) {
	linear, fault := engine.CompileWholePattern(text, limits)
	if fault == nil {
		return &wholePattern{text: text, linear: &linear}, nil
	}
	// As for RE2, the pattern is read on its own first.
	if ecma.Check(text, limits) != nil {
		return nil, fault
	}
	const begin, end = "^(?:", ")$"
	limits.MaxPatternChars += len(begin + end)
	search, err := ecma.Compile(begin+text+end, limits)
	if err != nil {
		return nil, err
	}
	if linear, ok := search.Linear(); ok {
		return &wholePattern{text: text, linear: &linear}, nil
	}
	return &wholePattern{text: text, search: search}, nil
}

// patternWork is what patterns may cost: RE2 on each value, and the steps of the others on each value and in the table.
type patternWork struct {
	linear, steps, left int64
}

// stepsOfTables is how many times the steps of one value all values of a table may take together.
const stepsOfTables = 50

func newPatternWork(limits engine.Limits) patternWork {
	return patternWork{limits.MaxPatternWork, limits.MaxPatternSteps, stepsOfTables * limits.MaxPatternSteps}
}

// match looks for the pattern in a value.
func (p *wholePattern) match(text string, work *patternWork) ecma.Verdict {
	if p.linear == nil {
		return p.search.Search(text, min(work.steps, work.left), func(steps int64) bool {
			work.left -= steps
			return work.left > 0
		})
	}
	switch {
	case p.linear.Work(text) > work.linear:
		return ecma.Unfinished
	case p.linear.RE.MatchString(text):
		return ecma.Matches
	default:
		return ecma.NoMatch
	}
}

func (c *column) patternViolation(value cell, work *patternWork, found func(code string, words wording)) {
	switch c.pattern.match(value.text, work) {
	case ecma.Matches:
	case ecma.NoMatch:
		found("csv.pattern", func(c *column, value cell) string {
			return c.name + " " + engine.Quote(value.text) + " does not match " + c.pattern.text
		})
	default:
		found("csv.pattern", func(c *column, _ cell) string {
			return c.name + " was not evaluated: the pattern costs too much on a text of this length"
		})
	}
}
