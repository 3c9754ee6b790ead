package xmltext

import (
	"strings"
	"unicode"
)

// patternReader reads the classes of an expression. What has no meaning ends the reading: libxml2 says what is wrong.
type patternReader struct {
	source []rune
	at     int
	depth  int
}

// maxClasses is how deep classes may nest.
const maxClasses = 100

// next returns the next character, -1 at the end.
func (p *patternReader) next() rune {
	if p.at >= len(p.source) {
		return -1
	}
	return p.source[p.at]
}

// take moves behind a character if it is the next.
func (p *patternReader) take(c rune) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

// class reads a class behind its opening bracket. A class may be taken away at its end, as in [a-z-[aeiou]].
func (p *patternReader) class() (set, bool) {
	p.depth++
	defer func() { p.depth-- }()
	negative := p.take('^')
	if p.depth > maxClasses || p.next() == ']' {
		return nil, false
	}
	var characters set
	for p.next() >= 0 {
		switch {
		case p.take(']'):
			return finish(characters, negative), true
		case len(characters) > 0 && p.next() == '-' && p.at+1 < len(p.source) && p.source[p.at+1] == '[':
			p.at += 2
			without, ok := p.class()
			if !ok || !p.take(']') {
				return nil, false
			}
			return finish(characters, negative).without(without), true
		}
		more, ok := p.classRange()
		if !ok {
			return nil, false
		}
		characters = append(characters, more...)
	}
	return nil, false
}

func finish(characters set, negative bool) set {
	if negative {
		return characters.negate()
	}
	return characters.merge()
}

// classRange reads a character, an escape, or two characters with a - between them.
func (p *patternReader) classRange() (set, bool) {
	low, ok := p.classAtom()
	if !ok || !low.isSingle() || p.next() != '-' || p.at+1 >= len(p.source) {
		return low, ok
	}
	if behind := p.source[p.at+1]; behind == ']' || behind == '[' {
		return low, true
	}
	p.at++
	high, ok := p.classAtom()
	if !ok || !high.isSingle() || low[0] > high[0] {
		return nil, false
	}
	return set{low[0], high[0]}, true
}

func (s set) isSingle() bool {
	return len(s) == 2 && s[0] == s[1]
}

func (p *patternReader) classAtom() (set, bool) {
	c := p.next()
	p.at++
	switch c {
	case '[':
		return nil, false
	case '\\':
		return p.escape()
	default:
		return set{c, c}, true
	}
}

// escape reads what follows a backslash.
func (p *patternReader) escape() (set, bool) {
	c := p.next()
	p.at++
	if plain, known := map[rune]rune{'n': '\n', 'r': '\r', 't': '\t'}[c]; known {
		return set{plain, plain}, true
	}
	characters := several(unicode.ToLower(c))
	if c == 'p' || c == 'P' {
		characters = p.property()
	}
	switch {
	case characters != nil && unicode.IsUpper(c):
		return characters.negate(), true
	case characters != nil:
		return characters, true
	default:
		return set{c, c}, c >= 0 && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}
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

// property reads the name behind \p, and returns nil for an unknown one.
func (p *patternReader) property() set {
	opened := p.at
	for p.at < len(p.source) && p.next() != '}' {
		p.at++
	}
	name, isNamed := strings.CutPrefix(string(p.source[opened:p.at]), "{")
	if !p.take('}') || !isNamed {
		return nil
	}
	if block, known := blockOf(name); known {
		return block
	}
	table, known := unicode.Categories[name]
	const longest = 2
	switch {
	case !known || len(name) > longest:
		return nil
	case name == "C":
		return tableSet(table, unicode.Cn)
	default:
		return tableSet(table)
	}
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
