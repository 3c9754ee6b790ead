package rules

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// operator judges one value.
type operator func(s subject) outcome

// verdict is what an operator says of a value.
type verdict int

const (
	verdictHolds verdict = iota
	verdictFails
	// verdictOpen means that the operator does not support the value, which never counts as a pass.
	verdictOpen
)

// outcome is a verdict with the reason for it. Below leads from the value to the element that is to blame.
type outcome struct {
	verdict verdict
	message string
	below   []string
}

// subject is a value that is judged. Textual values come from XML, which knows no types: a text counts as the number or
// the truth value that it spells.
type subject struct {
	value   any
	textual bool
	run     *run
	// quiet has the verdicts that are only counted from now on, and need no message.
	quiet [verdictOpen + 1]bool
}

// operatorApproxEq is the only operator with a tolerance.
const operatorApproxEq = "approx_eq"

// operators are all operators by name. Compilers reach them through a field, since some operators compile others.
var operators = map[string]operatorCompiler{
	"eq":     among((*operand).one, "is not"),
	"ne":     notAmong((*operand).one),
	"in":     among((*operand).list, "is not one of"),
	"not_in": notAmong((*operand).list),

	"lt":             ordered("is not less than", func(c int) bool { return c < 0 }),
	"le":             ordered("is more than", func(c int) bool { return c <= 0 }),
	"gt":             ordered("is not more than", func(c int) bool { return c > 0 }),
	"ge":             ordered("is less than", func(c int) bool { return c >= 0 }),
	"between":        between,
	operatorApproxEq: approximately,

	"contains":    contains,
	"starts_with": textual("does not start with", strings.HasPrefix),
	"ends_with":   textual("does not end with", strings.HasSuffix),
	"matches":     matches,

	"is_null": plain(func(s subject) outcome {
		return s.judge(s.value == nil, func() string { return s.shown() + " is not null" })
	}),
	"not_null": plain(func(s subject) outcome {
		return s.judge(s.value != nil, func() string { return "is null" })
	}),
	"is_empty": plain(onLengths(func(length int) bool { return length == 0 },
		func(s subject, _ string) string { return s.shown() + " is not empty" })),
	"not_empty": plain(onLengths(func(length int) bool { return length > 0 },
		func(subject, string) string { return "is empty" })),
	"type_is": typed,
	"len_eq":  sized("not", func(got, want int) bool { return got == want }),
	"len_le":  sized("more than", func(got, want int) bool { return got <= want }),
	"len_ge":  sized("fewer than", func(got, want int) bool { return got >= want }),
	"unique":  unique,

	"before": dated("is not before", func(i, limit instant) bool { return i.time.Before(limit.time) }),
	"after":  dated("is not after", func(i, limit instant) bool { return i.time.After(limit.time) }),
	"within": within,

	"any":  anyElement,
	"all":  allElements,
	"none": noElement,
}

// judge makes the message only where it is shown.
func (s subject) judge(holds bool, message func() string) outcome {
	if holds {
		return outcome{}
	}
	if s.quiet[verdictFails] {
		return outcome{verdict: verdictFails}
	}
	return outcome{verdict: verdictFails, message: message()}
}

// misfit is the outcome for a value of another type than the operator takes.
func (s subject) misfit(want string) outcome {
	if s.quiet[verdictOpen] {
		return outcome{verdict: verdictOpen}
	}
	return outcome{verdict: verdictOpen, message: "wants " + want + ", found " + s.kind()}
}

// kind names the type of the value.
func (s subject) kind() string {
	switch v := s.value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + engine.Clip(v.String())
	case string:
		return "the string " + engine.Quote(v)
	case []any:
		return "a list of " + engine.Plural(len(v), "element", "elements")
	default:
		return "an object"
	}
}

// shown is the value as a message repeats it.
func (s subject) shown() string {
	switch v := s.value.(type) {
	case json.Number:
		return engine.Clip(v.String())
	case string:
		if _, number := s.number(); number {
			return engine.Clip(v)
		}
		return engine.Quote(v)
	default:
		return s.kind()
	}
}

func (s subject) number() (exact, bool) {
	switch v := s.value.(type) {
	case json.Number:
		return newExact(v.String()), true
	case string:
		if s.textual && len(v) <= engine.MaxNumberChars && numberText.MatchString(v) && engine.NumberInRange(v) {
			return newExact(v), true
		}
	}
	return exact{}, false
}

// numberText is the notation of XML's decimals and doubles, which JSON's is part of.
var numberText = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)

// forms are the canonical texts that the value is equal to.
func (s subject) forms() []string {
	forms := []string{canonical(s.value)}
	text, ok := s.value.(string)
	if !ok || !s.textual {
		return forms
	}
	if number, ok := s.number(); ok {
		forms = append(forms, number.text())
	}
	if text == "true" || text == "false" {
		forms = append(forms, text)
	}
	return forms
}

func (s subject) equals(form string) bool {
	return slices.Contains(s.forms(), form)
}

// elements are those of a list. An element of XML that occurs once is the only one of its name.
func (s subject) elements() ([]any, bool) {
	items, ok := s.value.([]any)
	if !ok && s.textual {
		return []any{s.value}, true
	}
	return items, ok
}

func (s subject) with(value any) subject {
	s.value = value
	return s
}

func (s subject) types() []string {
	types := []string{}
	switch v := s.value.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case []any:
		return []string{"array"}
	case map[string]any:
		return []string{"object"}
	case string:
		types = append(types, "string")
		if s.textual && (v == "true" || v == "false") {
			types = append(types, "boolean")
		}
	}
	if number, ok := s.number(); ok {
		types = append(types, "number")
		if number.whole() {
			types = append(types, "integer")
		}
	}
	return types
}

// plain is an operator that compares with nothing.
func plain(check operator) operatorCompiler {
	return func(o *operand) operator {
		o.unused = true
		return check
	}
}

// formsOf are the canonical texts of values, and how a message shows them.
func formsOf(values []any) (map[string]bool, string) {
	forms, shown := map[string]bool{}, []string{}
	for _, value := range values {
		forms[canonical(value)] = true
		shown = append(shown, subject{value: value}.shown())
	}
	return forms, engine.ClipTo(strings.Join(shown, ", "), 2*engine.MaxQuoted)
}

func (s subject) isAmong(forms map[string]bool) bool {
	return slices.ContainsFunc(s.forms(), func(form string) bool { return forms[form] })
}

// among compares with values, of which the value has to be one.
func among(values func(o *operand) []any, words string) operatorCompiler {
	return func(o *operand) operator {
		forms, shown := formsOf(values(o))
		return func(s subject) outcome {
			return s.judge(s.isAmong(forms), func() string { return s.shown() + " " + words + " " + shown })
		}
	}
}

func notAmong(values func(o *operand) []any) operatorCompiler {
	return func(o *operand) operator {
		forms, _ := formsOf(values(o))
		return func(s subject) outcome {
			return s.judge(!s.isAmong(forms), func() string { return s.shown() + " is not allowed" })
		}
	}
}

// onNumbers judges numbers by a condition.
func onNumbers(holds func(number exact) bool, message func(shown string) string) operator {
	return func(s subject) outcome {
		number, ok := s.number()
		if !ok {
			return s.misfit("a number")
		}
		return s.judge(holds(number), func() string { return message(s.shown()) })
	}
}

func ordered(words string, holds func(comparison int) bool) operatorCompiler {
	return func(o *operand) operator {
		limit := o.number()
		wanted := " " + words + " " + subject{value: o.value}.shown()
		return onNumbers(func(number exact) bool { return holds(number.compare(limit)) },
			func(shown string) string { return shown + wanted })
	}
}

func between(o *operand) operator {
	low, high := o.numbers()
	return onNumbers(func(number exact) bool { return number.compare(low) >= 0 && number.compare(high) <= 0 },
		func(shown string) string {
			return fmt.Sprintf("%s is not from %v to %v", shown, low.float(), high.float())
		})
}

func approximately(o *operand) operator {
	center, tolerance := o.approximate()
	return onNumbers(func(number exact) bool { return math.Abs(number.float()-center) <= tolerance },
		func(shown string) string {
			return fmt.Sprintf("%s is more than %v away from %v", shown, tolerance, center)
		})
}

// contains looks for a part of a text, or for an element of a list.
func contains(o *operand) operator {
	want := o.any()
	part, isText := want.(string)
	form := canonical(want)
	shown := subject{value: want}.shown()
	return func(s subject) outcome {
		missing := func() string { return s.shown() + " does not contain " + shown }
		switch v := s.value.(type) {
		case string:
			if !isText {
				return s.misfit("a list")
			}
			return s.judge(strings.Contains(v, part), missing)
		case []any:
			return s.judge(slices.ContainsFunc(v, func(item any) bool { return s.with(item).equals(form) }), missing)
		default:
			return s.misfit("a string or a list")
		}
	}
}

func textual(words string, holds func(text, part string) bool) operatorCompiler {
	return func(o *operand) operator {
		part := o.text()
		return func(s subject) outcome {
			text, ok := s.value.(string)
			if !ok {
				return s.misfit("a string")
			}
			return s.judge(holds(text, part), func() string {
				return engine.Quote(text) + " " + words + " " + engine.Quote(part)
			})
		}
	}
}

func matches(o *operand) operator {
	p := o.pattern()
	return func(s subject) outcome {
		text, ok := s.value.(string)
		if !ok {
			return s.misfit("a string")
		}
		work := p.Work(text)
		// Once the step has used up its work, this outcome is not reported.
		if work > s.run.limits.MaxPatternWork || s.run.work.Spend(expression.PatternCost(work)) != nil {
			return outcome{verdict: verdictOpen, message: "the pattern costs too much on a text of this length"}
		}
		return s.judge(p.RE.MatchString(text), func() string {
			return engine.Quote(text) + " does not match " + engine.Clip(p.RE.String())
		})
	}
}

// length is the number of characters, elements or members, and the word for one of them. Null has none.
func (s subject) length() (int, string, bool) {
	switch v := s.value.(type) {
	case nil:
		return 0, "", true
	case string:
		return utf8.RuneCountInString(v), "character", true
	case []any:
		return len(v), "element", true
	case map[string]any:
		return len(v), "member", true
	default:
		return 0, "", false
	}
}

const sizedTypes = "a string, a list or an object"

// onLengths judges the length of texts, lists and objects by a condition. The message gets the length with its word.
func onLengths(holds func(length int) bool, message func(s subject, length string) string) operator {
	return func(s subject) outcome {
		length, unit, ok := s.length()
		if !ok {
			return s.misfit(sizedTypes)
		}
		return s.judge(holds(length), func() string { return message(s, engine.Plural(length, unit, unit+"s")) })
	}
}

func sized(words string, holds func(got, want int) bool) operatorCompiler {
	return func(o *operand) operator {
		want := o.length()
		check := onLengths(func(got int) bool { return holds(got, want) },
			func(_ subject, got string) string { return fmt.Sprintf("has %s, %s %d", got, words, want) })
		return func(s subject) outcome {
			if s.value == nil {
				return s.misfit(sizedTypes)
			}
			return check(s)
		}
	}
}

func typed(o *operand) operator {
	want := o.types()
	return func(s subject) outcome {
		fits := slices.ContainsFunc(s.types(), func(name string) bool { return slices.Contains(want, name) })
		return s.judge(fits, func() string { return s.kind() + " is not of type " + strings.Join(want, " or ") })
	}
}

// onTimes judges dates and date-times by a condition.
func onTimes(holds func(value instant) bool, words string) operator {
	return func(s subject) outcome {
		text, _ := s.value.(string)
		found, ok := parseInstant(text)
		if !ok {
			return s.misfit("a date or a date-time")
		}
		return s.judge(holds(found), func() string { return text + " " + words })
	}
}

func dated(words string, holds func(value, limit instant) bool) operatorCompiler {
	return func(o *operand) operator {
		limit := o.instant()
		shown, _ := o.value.(string)
		return onTimes(func(value instant) bool { return holds(value, limit) }, words+" "+shown)
	}
}

func within(o *operand) operator {
	from, to := o.period()
	return onTimes(func(value instant) bool { return !value.time.Before(from) && !value.time.After(to) },
		"is outside the period")
}
