package tableschema

import "github.com/simplevalidations/simplevalidations/validations/engines/engine"

// patternViolation looks for the pattern in a value. Once a search has taken too much, Failed says so and there is no
// verdict on the table.
func (c *Column) patternViolation(value Cell, work *PatternWork, found Found) {
	if c.pattern.Linear != nil && c.pattern.Linear.Work(value.Text) > work.Most {
		found("csv.pattern", value, func(c *Column, _ Cell) string {
			return c.Name + " was not evaluated: the pattern costs too much on a text of this length"
		})
		return
	}
	matches, err := c.pattern.Match(value.Text)
	switch {
	case err != nil:
		work.Failed = err
	case !matches:
		found("csv.pattern", value, func(c *Column, value Cell) string {
			return c.Name + " " + engine.Quote(value.Text) + " does not match " + c.patternText
		})
	}
}

// PatternWork is what one match in RE2 may cost, and the error of a search in ECMA-262.
type PatternWork struct {
	Most   int64
	Failed error
}
