package tableschema

import (
	"github.com/simplevalidations/simplevalidations/validations/engines/ecma"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// wholePattern is a regular expression that the whole of a value must match: one of RE2, or else one of ECMA-262, which
// has look-around and back-references.
type wholePattern struct {
	// text is the pattern as the schema has it.
	text string
	// linear is the pattern for RE2; nil for one of ECMA-262.
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

// patternViolation looks for the pattern in a value. Once a search has taken too much, Failed says so and there is no
// verdict on the table.
func (c *Column) patternViolation(value Cell, work *PatternWork, found Found) {
	p := c.pattern
	if p.linear != nil && p.linear.Work(value.Text) > work.Most {
		found("csv.pattern", value, func(c *Column, _ Cell) string {
			return c.Name + " was not evaluated: the pattern costs too much on a text of this length"
		})
		return
	}
	matches := true
	if p.linear != nil {
		matches = p.linear.RE.MatchString(value.Text)
	} else if found, err := p.search.Match(value.Text); err != nil {
		work.Failed = err
	} else {
		matches = found
	}
	if !matches {
		found("csv.pattern", value, func(c *Column, value Cell) string {
			return c.Name + " " + engine.Quote(value.Text) + " does not match " + c.pattern.text
		})
	}
}

// PatternWork is what one match in RE2 may cost, and the error of a search in ECMA-262.
type PatternWork struct {
	Most   int64
	Failed error
}
