package ecma

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf16"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const maxASCII = unicode.MaxASCII

// escape reads what follows a backslash outside of a class.
func (p *parser) escape() (any, error) {
	c := p.next()
	if c >= '1' && c <= '9' {
		return p.refer(p.backreference())
	}
	if c == 'k' {
		at := p.at
		p.at++
		if !p.take("<") {
			return nil, p.fault(`\k is followed by the name of a group, as in \k<name>`)
		}
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		return p.refer(&reference{name: name, at: at})
	}
	spans, _, err := p.classEscape()
	if err != nil {
		return nil, err
	}
	return newSet(spans...), nil
}

func (p *parser) refer(r *reference) (any, error) {
	p.references = append(p.references, r)
	return r, nil
}

func (p *parser) backreference() *reference {
	at := p.at
	number, _ := p.count()
	return &reference{number: number, at: at}
}

// classEscape reads what follows a backslash in a class or outside. It says whether that stands for one character.
func (p *parser) classEscape() ([]span, bool, error) {
	switch c := p.next(); c {
	case 'd', 'D', 's', 'S', 'w', 'W':
		p.at++
		spans := map[rune]func() []span{'d': digits, 's': spaces, 'w': wordCharacters}[unicode.ToLower(c)]()
		if unicode.IsUpper(c) {
			spans = others(spans)
		}
		return spans, false, nil
	case 'p', 'P':
		p.at++
		spans, err := p.property(c == 'P')
		return spans, false, err
	}
	c, err := p.characterEscape()
	return []span{{c, c}}, true, err
}

// property reads the name behind \p.
func (p *parser) property(negative bool) ([]span, error) {
	begin := p.at
	if !p.take("{") {
		return nil, p.fault(`\p is followed by the name of a property, as in \p{L}`)
	}
	for p.next() >= 0 && p.next() != '}' {
		p.at++
	}
	name := string(p.source[begin+1 : p.at])
	if !p.take("}") {
		return nil, p.fault(`\p is followed by the name of a property, as in \p{L}`)
	}
	tables, known := propertyTables(name)
	if !known {
		p.at = begin
		return nil, p.fault("the property " + engine.Quote(name) + " is not known here")
	}
	if p.checking {
		return nil, nil
	}
	spans := tableSpans(tables)
	if negative {
		spans = others(spans)
	}
	return spans, nil
}

// characterEscape reads what stands for one character.
func (p *parser) characterEscape() (rune, error) {
	c := p.next()
	if c < 0 {
		return 0, p.fault(`a \ has nothing to escape`)
	}
	if plain, known := map[rune]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r'}[c]; known {
		p.at++
		return plain, nil
	}
	switch c {
	case 'c':
		return p.control()
	case '0':
		p.at++
		if next := p.next(); next >= '0' && next <= '9' {
			return 0, p.fault(`\0 must not be followed by a digit`)
		}
		return 0, nil
	case 'x':
		const length = 2
		p.at++
		return p.hexadecimal(length, `\x is followed by two hexadecimal digits`)
	case 'u':
		p.at++
		return p.unicode()
	}
	if !p.isIdentity(c) {
		return 0, p.fault(fmt.Sprintf(`\%c means nothing in ECMA-262`, c))
	}
	p.at++
	return c, nil
}

// control reads a control character, as \cJ is one.
func (p *parser) control() (rune, error) {
	const controls = 32
	letter := p.ahead(1)
	if letter > maxASCII || !unicode.IsLetter(letter) {
		return 0, p.fault(`\c is followed by a letter`)
	}
	p.at += 2
	return letter % controls, nil
}

// unicode reads what follows \u: four digits, two surrogates, or a code point in braces.
func (p *parser) unicode() (rune, error) {
	const length, wrong = 4, `\u is followed by four hexadecimal digits, or by digits in {}`
	if p.take("{") {
		begin := p.at
		for p.next() >= 0 && p.next() != '}' {
			p.at++
		}
		point, err := strconv.ParseUint(string(p.source[begin:p.at]), 16, 32)
		if err != nil || point > unicode.MaxRune || !p.take("}") {
			return 0, p.fault(wrong)
		}
		return rune(point), nil
	}
	first, err := p.hexadecimal(length, wrong)
	if err != nil {
		return 0, err
	}
	begin := p.at
	if utf16.IsSurrogate(first) && p.take(`\u`) {
		second, err := p.hexadecimal(length, wrong)
		if whole := utf16.DecodeRune(first, second); err == nil && whole != unicode.ReplacementChar {
			return whole, nil
		}
		p.at = begin
	}
	return first, nil
}

func (p *parser) hexadecimal(length int, wrong string) (rune, error) {
	end := min(p.at+length, len(p.source))
	number, err := strconv.ParseUint(string(p.source[p.at:end]), 16, 32)
	if err != nil || end-p.at < length {
		return 0, p.fault(wrong)
	}
	p.at = end
	return rune(number), nil //nolint:gosec // four digits at most
}

// class reads a class behind its opening bracket.
func (p *parser) class() (*set, error) {
	opened := p.at - 1
	negative := p.take("^")
	var spans []span
	for !p.take("]") {
		if p.at >= len(p.source) {
			return nil, &syntaxError{opened, "this [ is never closed"}
		}
		more, err := p.classRange()
		if err != nil {
			return nil, err
		}
		spans = append(spans, more...)
	}
	if negative {
		spans = others(spans)
	}
	return newSet(spans...), nil
}

// classRange reads a character, an escape, or two characters with a - between them.
func (p *parser) classRange() ([]span, error) {
	low, single, err := p.classAtom()
	if err != nil || p.next() != '-' || p.ahead(1) == ']' || p.ahead(1) < 0 {
		return low, err
	}
	p.at++
	high, singleHigh, err := p.classAtom()
	if err != nil {
		return nil, err
	}
	if single && singleHigh {
		if low[0].low > high[0].low {
			return nil, p.fault("the range in [] is out of order")
		}
		return []span{{low[0].low, high[0].low}}, nil
	}
	if p.strict {
		return nil, p.fault("a range in [] goes from one character to another")
	}
	return append(append(low, high...), span{'-', '-'}), nil
}

func (p *parser) classAtom() ([]span, bool, error) {
	switch {
	case p.take(`\b`):
		return []span{{'\b', '\b'}}, true, nil
	case p.take(`\-`):
		return []span{{'-', '-'}}, true, nil
	case p.take(`\`):
		return p.classEscape()
	}
	c := p.next()
	p.at++
	return []span{{c, c}}, true, nil
}
