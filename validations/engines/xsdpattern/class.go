package xsdpattern

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// class reads a class behind its opening bracket. A class may be taken away at its end, as in [a-z-[aeiou]].
func (p *parser) class(opened int) (set, error) {
	p.depth++
	if p.depth > maxGroups {
		return nil, p.fault("classes are nested too deeply")
	}
	negative := p.take('^')
	if p.next() == ']' {
		return nil, p.fault("a class has no characters")
	}
	var characters set
	for p.next() >= 0 {
		switch {
		case p.take(']'):
			p.depth--
			return finish(characters, negative), nil
		case len(characters) > 0 && p.next() == '-' && p.at+1 < len(p.source) && p.source[p.at+1] == '[':
			p.at += 2
			without, err := p.class(p.at - 1)
			if err != nil {
				return nil, err
			}
			if !p.take(']') {
				return nil, &syntaxError{opened, unclosedClass}
			}
			p.depth--
			return finish(characters, negative).without(without), nil
		}
		more, err := p.classRange()
		if err != nil {
			return nil, err
		}
		characters = append(characters, more...)
	}
	return nil, &syntaxError{opened, unclosedClass}
}

const unclosedClass = "this [ is never closed"

func finish(characters set, negative bool) set {
	if negative {
		return characters.negate()
	}
	return characters.merge()
}

// classRange reads a character, an escape, or two characters with a - between them.
func (p *parser) classRange() (set, error) {
	low, single, err := p.classAtom()
	if err != nil || !single || p.next() != '-' || p.at+1 >= len(p.source) {
		return low, err
	}
	if behind := p.source[p.at+1]; behind == ']' || behind == '[' {
		return low, nil
	}
	p.at++
	high, single, err := p.classAtom()
	if err != nil {
		return nil, err
	}
	if !single {
		return nil, p.fault("a range in [] goes from one character to another")
	}
	if low[0] > high[0] {
		return nil, p.fault("the range in [] is out of order")
	}
	return set{low[0], high[0]}, nil
}

func (p *parser) classAtom() (set, bool, error) {
	c := p.next()
	if c == '[' {
		return nil, false, p.fault(`a single [ needs a backslash in []`)
	}
	p.at++
	if c == '\\' {
		return p.escape()
	}
	return set{c, c}, true, nil
}

// escape reads what follows a backslash. It says whether that is one character.
func (p *parser) escape() (set, bool, error) {
	c := p.next()
	if c < 0 {
		return nil, false, p.fault(`a \ has nothing to escape`)
	}
	p.at++
	if plain, known := map[rune]rune{'n': '\n', 'r': '\r', 't': '\t'}[c]; known {
		return set{plain, plain}, true, nil
	}
	if c == 'p' || c == 'P' {
		characters, err := p.property()
		if err == nil && c == 'P' {
			characters = characters.negate()
		}
		return characters, false, err
	}
	if characters := several(unicode.ToLower(c)); characters != nil {
		if unicode.IsUpper(c) {
			characters = characters.negate()
		}
		return characters, false, nil
	}
	if unicode.IsLetter(c) || unicode.IsDigit(c) {
		p.at--
		return nil, false, p.fault(fmt.Sprintf(`\%c means nothing in XML Schema`, c))
	}
	return set{c, c}, true, nil
}

// several returns the characters that an escape stands for, or nil for an unknown escape.
func several(letter rune) set {
	switch letter {
	case 's':
		return set{'\t', '\n', '\r', '\r', ' ', ' '}
	case 'd':
		return tableSet(unicode.Nd)
	case 'w':
		return tableSet(unicode.P, unicode.Z, unicode.C, unicode.Cn).negate()
	case 'i':
		return nameStart()
	case 'c':
		return append(nameStart(), '-', '.', '0', '9', '\u00b7', '\u00b7', '\u0300', '\u036f', '\u203f',
			'\u2040').merge()
	default:
		return nil
	}
}

// nameStart are the characters that a name of XML begins with.
func nameStart() set {
	return set{
		':', ':', 'A', 'Z', '_', '_', 'a', 'z', '\u00c0', '\u00d6', '\u00d8', '\u00f6', '\u00f8', '\u02ff',
		'\u0370', '\u037d', '\u037f', '\u1fff', '\u200c', '\u200d', '\u2070', '\u218f', '\u2c00', '\u2fef',
		'\u3001', '\ud7ff', '\uf900', '\ufdcf', '\ufdf0', '\ufffd', '\U00010000', '\U000effff',
	}
}

// property reads the name behind \p.
func (p *parser) property() (set, error) {
	opened := p.at
	for p.at < len(p.source) && p.next() != '}' {
		p.at++
	}
	written := string(p.source[opened:p.at])
	if !p.take('}') || !strings.HasPrefix(written, "{") {
		return nil, &syntaxError{opened, `\p is followed by the name of a property, as in \p{L}`}
	}
	name := written[1:]
	if block, known := blockOf(name); known {
		return block, nil
	}
	table, known := unicode.Categories[name]
	const longest = 2
	if !known || len(name) > longest {
		return nil, &syntaxError{opened, "the property " + engine.Quote(name) + " is not known here"}
	}
	if name == "C" {
		return tableSet(table, unicode.Cn), nil
	}
	return tableSet(table), nil
}

// blockOf are the characters of a block that people use in names.
func blockOf(name string) (set, bool) {
	block, known := map[string]set{
		"IsBasicLatin": {0, 0x7f}, "IsLatin-1Supplement": {0x80, 0xff}, "IsLatinExtended-A": {0x100, 0x17f},
		"IsLatinExtended-B": {0x180, 0x24f}, "IsGreek": {0x370, 0x3ff}, "IsCyrillic": {0x400, 0x4ff},
		"IsHebrew": {0x590, 0x5ff}, "IsArabic": {0x600, 0x6ff}, "IsHiragana": {0x3040, 0x309f},
		"IsKatakana": {0x30a0, 0x30ff}, "IsCJKUnifiedIdeographs": {0x4e00, 0x9fff},
		"IsHangulSyllables": {0xac00, 0xd7a3},
	}[name]
	return block, known
}
