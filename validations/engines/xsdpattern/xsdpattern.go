// Package xsdpattern compiles regular expressions of XML Schema for the regexp package, which takes linear time.
//
// They match whole texts, and ^ and $ stand for themselves. What the language does not have and people write
// nevertheless, such as anchors and look-around, is refused with a hint, because it would never match what is meant. A
// backslash may stand before any sign, as most programs allow.
package xsdpattern

import (
	"fmt"
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
	if err := p.alternatives(); err != nil {
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

func (p *parser) alternatives() error {
	for {
		for p.at < len(p.source) && p.next() != '|' && p.next() != ')' {
			if err := p.piece(); err != nil {
				return err
			}
		}
		if !p.take('|') {
			return nil
		}
		p.linear.WriteByte('|')
	}
}

// maxGroups is how deep groups may nest.
const maxGroups = 100

// piece reads a part and how often it is repeated.
func (p *parser) piece() error {
	if p.next() == '(' {
		if err := p.group(); err != nil {
			return err
		}
		return p.quantifier()
	}
	characters, err := p.atom()
	if err != nil {
		return err
	}
	characters.write(&p.linear)
	return p.quantifier()
}

func (p *parser) group() error {
	opened := p.at
	p.at++
	if p.next() == '?' {
		return p.fault("XML Schema has no (?...): a group is written as (...), and look-around does not exist")
	}
	if p.depth++; p.depth > maxGroups {
		return p.fault("groups are nested too deep")
	}
	p.linear.WriteString("(?:")
	if err := p.alternatives(); err != nil {
		return err
	}
	if !p.take(')') {
		return &syntaxError{opened, "this ( is never closed"}
	}
	p.linear.WriteByte(')')
	p.depth--
	return nil
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

// quantifier reads how often the last part is repeated, if that is said.
func (p *parser) quantifier() error {
	switch c := p.next(); c {
	case '?', '*', '+':
		p.at++
		p.linear.WriteRune(c)
	case '{':
		if err := p.bounds(); err != nil {
			return err
		}
	default:
		return nil
	}
	switch p.next() {
	case '?', '*', '+', '{':
		return p.fault("XML Schema has no quantifier of a quantifier, such as .*? or a++")
	}
	return nil
}

// bounds reads {n}, {n,} or {n,m}.
func (p *parser) bounds() error {
	opened := p.at
	for p.at < len(p.source) && p.next() != '}' {
		p.at++
	}
	text := string(p.source[opened+1 : p.at])
	least, most, ranged := strings.Cut(text, ",")
	if !p.take('}') || !isNumber(least) || ranged && most != "" && !isNumber(most) {
		return &syntaxError{opened, "a repetition is written as {2}, {2,} or {2,3}"}
	}
	p.linear.WriteString("{" + text + "}")
	return nil
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
