package expression

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const noOverloadErrorText = "no such overload"

// reasons are beginnings of CEL's messages on values that an expression does not take. A dollar sign stands for what
// follows the beginning.
var reasons = []struct{ beginning, words string }{
	{"no such key: ", "there is no $"},
	{"no such attribute(s): ", "there is no $"},
	{"index out of bounds: -", "a list has no element -$; the last one is x[size(x) - 1]"},
	{"index out of bounds: ", "there is no element $"},
	{"index out of range: ", "the text has no character $"},
	{"invalid substring range", "a part of a text ends before it begins"},
	{"cannot slice", "the list does not have this part"},
	{"lists.range: size must be", "lists.range needs a number that is not negative"},
	{"lists.range: size", "lists.range needs a smaller number"},
	{"division by zero", "it divides by zero"},
	{"modulus by zero", "it divides by zero"},
	{"return error for overflow", "a number is too large"},
	{"integer overflow", "a number is too large"},
	{"range error", "a number is too large"},
	{"strconv.Parse", "a text is not a number"},
	{"time: ", "a text is not a duration such as 90m"},
	{"type conversion error from 'string' to 'double'", "a text is not a number"},
	{"type conversion error from 'string' to 'int'", "a text is not a number"},
	{"type conversion error", "a value cannot be converted"},
	{"list elements must be comparable", "a list of objects cannot be sorted; use x.sortBy(i, i.name)"},
	{"list elements must have the same type", "a list with values of several types cannot be sorted"},
	{"got '", "a loop needs a list or an object"},
	{"unknown time zone", "there is no time zone$"},
}

// reason says why an expression cannot be evaluated.
func (e *Expression) reason(message string) string {
	switch {
	case strings.Contains(message, "cost limit"):
		return "it costs too much" + e.cheaper
	case strings.Contains(message, noOverloadErrorText):
		return "it does not fit the types of the values, or a value is missing" + e.arithmeticHint()
	}
	for _, r := range reasons {
		if rest, ok := strings.CutPrefix(message, r.beginning); ok {
			return strings.ReplaceAll(r.words, "$", engine.Clip(rest))
		}
	}
	return engine.ClipTo(message, 2*engine.MaxQuoted)
}
