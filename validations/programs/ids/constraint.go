package main

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// constraint says which values will do: one value, or those of a restriction.
type constraint struct {
	// base is the type of a restriction, as xs:double; empty for a single value.
	base string
	// values are the single value, or those of an enumeration.
	values   []literal
	patterns []pattern
	bounds   []bound
	lengths  []length
}

// literal is a value as the text writes it.
type literal struct {
	text   string
	number float64
	// numeric says that the text is a number.
	numeric bool
}

// pattern is what a text is like.
type pattern struct {
	source   string
	compiled *regexp.Regexp
	// size is the number of its instructions.
	size int64
}

// bound is an end of a range: >, >=, < or <=.
type bound struct {
	sign string
	than literal
	// isDuration says that texts are lengths of time, whose order is not that of texts.
	isDuration bool
}

// length bounds how many characters a text has: =, >= or <=.
type length struct {
	sign string
	than int
}

// scalar is a value of a model.
type scalar struct {
	form   form
	text   string
	number float64
}

// form is what a value of a model can be compared as.
type form uint8

const (
	// formOther is that of objects and lists, which cannot be compared.
	formOther form = iota
	formText
	formNumber
	formBoolean
	formLogical
)

// tolerance allows for the rounding of numbers, both relative to the number and absolute. Its ends are included, and
// rounding is what doubles lose beyond it when the ends are computed.
const (
	tolerance = 1e-6
	rounding  = 1e-15
)

// slack is how far a value may be from a number that it is taken for.
func slack(number float64) float64 {
	around := math.Abs(number)
	return around*tolerance + tolerance + (around+tolerance)*rounding
}

// newLiteral reads a value as XML Schema has numbers.
func newLiteral(text string) literal {
	number, err := strconv.ParseFloat(text, 64)
	numeric := err == nil && strings.Trim(text, "+-.0123456789eE") == ""
	return literal{text, number, numeric}
}

// equals says whether a value of a model is the one that is written.
func (l literal) equals(v scalar) bool {
	switch v.form {
	case formText:
		return v.text == l.text
	case formNumber:
		return l.numeric && math.Abs(v.number-l.number) <= slack(l.number)
	case formBoolean:
		return v.text == l.text || v.text == "true" && l.text == "1" || v.text == "false" && l.text == "0"
	case formLogical:
		return strings.EqualFold(v.text, l.text)
	default:
		return false
	}
}

// matches says whether a value will do.
func (c *constraint) matches(w *port.Work, v scalar) bool {
	if v.form == formOther || !w.Spend(1+len(c.values)) {
		return false
	}
	if len(c.values) > 0 && !slices.ContainsFunc(c.values, func(l literal) bool { return l.equals(v) }) {
		return false
	}
	return c.matchesPatterns(w, v) && c.matchesBounds(v) && c.matchesLengths(v)
}

// isList says whether the constraint only lists values.
func (c *constraint) isList() bool {
	return len(c.values) > 0 && len(c.patterns)+len(c.bounds)+len(c.lengths) == 0
}

// matchesText is matches for a name.
func (c *constraint) matchesText(w *port.Work, text string) bool {
	return c.matches(w, scalar{form: formText, text: text})
}

// matchesPatterns says whether a text is like one of the patterns. Only texts are.
func (c *constraint) matchesPatterns(w *port.Work, v scalar) bool {
	if len(c.patterns) == 0 {
		return true
	}
	for _, p := range c.patterns {
		if v.form != formText && v.form != formBoolean || !w.Spend(int(p.work(v.text)>>patternShift)) {
			return false
		}
		if p.compiled.MatchString(v.text) {
			return true
		}
	}
	return false
}

// work is what matching a text costs at worst.
func (p pattern) work(text string) int64 {
	return p.size * int64(len(text)+1)
}

// patternShift makes work of what a pattern costs at worst, because most texts cost far less.
const patternShift = 2

func (c *constraint) matchesBounds(v scalar) bool {
	return !slices.ContainsFunc(c.bounds, func(b bound) bool { return !b.matches(v) })
}

// matches compares numbers with their tolerance, and dates as texts: theirs is the order of time.
func (b bound) matches(v scalar) bool {
	switch {
	case v.form == formNumber && b.than.numeric:
		return b.fits(v.number, b.than.number)
	case v.form != formText || b.than.numeric:
		return false
	case b.isDuration:
		return b.fitsDuration(v.text)
	}
	order := strings.Compare(v.text, b.than.text)
	return order > 0 && b.sign[0] == '>' || order < 0 && b.sign[0] == '<' || order == 0 && len(b.sign) > 1
}

// fits stretches a range that has its end, and shrinks one that has not.
func (b bound) fits(number, than float64) bool {
	switch b.sign {
	case ">":
		return number > than+slack(than)
	case ">=":
		return number >= than-slack(than)
	case "<":
		return number < than-slack(than)
	default:
		return number <= than+slack(than)
	}
}

func (c *constraint) matchesLengths(v scalar) bool {
	if len(c.lengths) == 0 {
		return true
	}
	if v.form != formText {
		return false
	}
	count := utf8.RuneCountInString(v.text)
	for _, l := range c.lengths {
		if l.sign == "=" && count != l.than || l.sign == ">=" && count < l.than || l.sign == "<=" && count > l.than {
			return false
		}
	}
	return true
}

// maxListed is how many values of an enumeration a message lists.
const maxListed = 5

// String is the constraint for people.
func (c *constraint) String() string {
	if c == nil {
		return "any"
	}
	var parts []string
	if len(c.values) > 0 {
		var listed []string
		for _, l := range c.values[:min(len(c.values), maxListed)] {
			listed = append(listed, findings.Quote(l.text))
		}
		if len(c.values) > maxListed {
			listed = append(listed, "…")
		}
		parts = append(parts, strings.Join(listed, " or "))
	}
	var like []string
	for _, p := range c.patterns {
		like = append(like, findings.Clip(p.source))
	}
	if len(like) > 0 {
		parts = append(parts, "matching "+strings.Join(like, " or "))
	}
	for _, b := range c.bounds {
		parts = append(parts, b.sign+" "+findings.Clip(b.than.text))
	}
	for _, l := range c.lengths {
		sign := map[string]string{"=": "", ">=": "at least ", "<=": "at most "}[l.sign]
		parts = append(parts, "of "+sign+findings.Plural(l.than, "character", "characters"))
	}
	return strings.Join(parts, " and ")
}
