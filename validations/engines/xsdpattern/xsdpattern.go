// Package xsdpattern compiles regular expressions of XML Schema for the regexp package, which takes linear time.
//
// They match whole texts, and ^ and $ stand for themselves. What the language does not have and people write
// nevertheless, such as anchors and look-around, is refused with a hint, because it would never match what is meant. A
// backslash may stand before any sign, as most programs allow.
package xsdpattern

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// maxLinearChars bounds an expression whose sets are written out. That of \w takes some 10,000 characters.
const maxLinearChars = 1 << 18

// Compile compiles an expression that matches whole texts.
func Compile(source string, limits engine.Limits) (engine.Pattern, error) {
	if len(source) > limits.MaxPatternChars {
		return engine.Pattern{}, fmt.Errorf("the pattern is longer than %d characters", limits.MaxPatternChars)
	}
	p := &parser{source: []rune(source)}
	if _, err := p.alternatives(); err != nil {
		return engine.Pattern{}, err
	}
	if p.at < len(p.source) {
		return engine.Pattern{}, p.fault("this ) closes no group")
	}
	limits.MaxPatternChars = maxLinearChars
	compiled, err := engine.CompileWholePattern(p.linear.String(), limits)
	if err != nil {
		return engine.Pattern{}, fmt.Errorf("the pattern cannot be compiled: %w", err)
	}
	return compiled, nil
}

// parser reads an expression and writes the linear one that means the same.
type parser struct {
	source []rune
	at     int
	depth  int
	linear strings.Builder
}

type syntaxError struct {
	at     int
	detail string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("at character %d: %s", e.at+1, e.detail)
}

func (p *parser) fault(detail string) error {
	return &syntaxError{p.at, detail}
}

// next returns the next character, -1 at the end.
func (p *parser) next() rune {
	if p.at >= len(p.source) {
		return -1
	}
	return p.source[p.at]
}

// take moves behind a character if it is the next.
func (p *parser) take(c rune) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

// maxSize is how many characters and sets an expression may have once its repetitions are written out.
const maxSize = 20_000

// alternatives reads parts up to the end of a group. It returns their size.
func (p *parser) alternatives() (int, error) {
	size := 1
	for {
		for p.at < len(p.source) && p.next() != '|' && p.next() != ')' {
			more, err := p.piece()
			if err != nil {
				return 0, err
			}
			if size += more; size > maxSize {
				return 0, p.fault("the pattern repeats too much")
			}
		}
		if !p.take('|') {
			return size, nil
		}
		p.linear.WriteByte('|')
	}
}

// maxGroups is how deep groups may nest.
const maxGroups = 100

// piece reads a part and how often it is repeated. It returns its size.
func (p *parser) piece() (int, error) {
	size := 1
	if p.next() == '(' {
		inside, err := p.group()
		if err != nil {
			return 0, err
		}
		size = inside
	} else {
		characters, err := p.atom()
		if err != nil {
			return 0, err
		}
		characters.write(&p.linear)
	}
	times, err := p.quantifier()
	return size * times, err
}

func (p *parser) group() (int, error) {
	opened := p.at
	p.at++
	if p.next() == '?' {
		return 0, p.fault("XML Schema has no (?...): a group is written as (...), and look-around does not exist")
	}
	p.depth++
	if p.depth > maxGroups {
		return 0, p.fault("groups are nested too deeply")
	}
	p.linear.WriteString("(?:")
	size, err := p.alternatives()
	if err != nil {
		return 0, err
	}
	if !p.take(')') {
		return 0, &syntaxError{opened, "this ( is never closed"}
	}
	p.linear.WriteByte(')')
	p.depth--
	return size, nil
}

func (p *parser) atom() (set, error) {
	c := p.next()
	last := p.at == len(p.source)-1
	switch {
	case c == '^' && p.at == 0, c == '$' && last:
		const hint = `%c stands for itself in patterns of XML Schema, which always match the whole text: ` +
			`leave it out, or write \%c`
		return nil, p.fault(fmt.Sprintf(hint, c, c))
	case strings.ContainsRune("?*+", c):
		return nil, p.fault("there is nothing to repeat")
	case c == ']':
		return nil, p.fault(`a single ] needs a backslash`)
	}
	p.at++
	switch c {
	case '.':
		return set{'\n', '\n', '\r', '\r'}.negate(), nil
	case '[':
		return p.class(p.at - 1)
	case '\\':
		characters, _, err := p.escape()
		return characters, err
	default:
		return set{c, c}, nil
	}
}

// quantifier reads how often the last part is repeated, if that is said. It returns how often that is written out.
func (p *parser) quantifier() (int, error) {
	times := 1
	switch c := p.next(); c {
	case '?', '*', '+':
		p.at++
		p.linear.WriteRune(c)
	case '{':
		written, err := p.bounds()
		if err != nil {
			return 0, err
		}
		times = written
	default:
		return times, nil
	}
	switch p.next() {
	case '?', '*', '+', '{':
		return 0, p.fault("XML Schema has no quantifier of a quantifier, such as .*? or a++")
	}
	return times, nil
}

// bounds reads {n}, {n,} or {n,m}.
func (p *parser) bounds() (int, error) {
	opened := p.at
	for p.at < len(p.source) && p.next() != '}' {
		p.at++
	}
	text := string(p.source[opened+1 : p.at])
	least, most, ranged := strings.Cut(text, ",")
	if !p.take('}') || !isNumber(least) || ranged && most != "" && !isNumber(most) {
		return 0, &syntaxError{opened, "a repetition is written as {2}, {2,} or {2,3}"}
	}
	// The regexp package has an upper limit, which is what is wrong with a number that does not fit.
	low, _ := strconv.Atoi(least)
	high, _ := strconv.Atoi(most)
	if max(low, high) > maxRepeats || most != "" && low > high {
		return 0, &syntaxError{opened, fmt.Sprintf("a repetition is up to %d, the least number before the most",
			maxRepeats)}
	}
	p.linear.WriteString("{" + text + "}")
	return max(low, high, 1), nil
}

// maxRepeats is the limit of the regexp package.
const maxRepeats = 1000

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
