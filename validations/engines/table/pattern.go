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
	if _, err := ecma.Compile(text, limits); err != nil {
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

// match looks for the pattern in a value. Its error is that the search has taken too much.
func (p *wholePattern) match(text string) (bool, error) {
	if p.linear != nil {
		return p.linear.RE.MatchString(text), nil
	}
	return p.search.Match(text)
}

// patternViolation looks for the pattern in a value. Once a search has taken too much, failed says so and there is no
// verdict on the table.
func (c *column) patternViolation(value cell, work *patternWork, found func(code string, words wording)) {
	if c.pattern.linear != nil && c.pattern.linear.Work(value.text) > work.most {
		found("csv.pattern", func(c *column, _ cell) string {
			return c.name + " was not evaluated: the pattern costs too much on a text of this length"
		})
		return
	}
	matches, err := c.pattern.match(value.text)
	if err != nil {
		work.failed = err
	} else if !matches {
		found("csv.pattern", func(c *column, value cell) string {
			return c.name + " " + engine.Quote(value.text) + " does not match " + c.pattern.text
		})
	}
}

// patternWork is what one match in RE2 may cost, and the error of a search in ECMA-262.
type patternWork struct {
	most   int64
	failed error
}
