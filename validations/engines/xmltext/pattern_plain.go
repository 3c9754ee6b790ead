package xmltext

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainPattern returns an expression that means the same, in which no class is negated within another one. libxml2
// reads [\P{L}] and [a-z-[^aeiou]] wrongly. An expression that cannot be read stays as it is: libxml2 says what is
// wrong.
func plainPattern(source string) string {
	var plain strings.Builder
	for rest := source; rest != ""; {
		length := 1
		switch rest[0] {
		case '\\':
			length = min(2, len(rest))
		case '[':
			p := &patternReader{rest: rest[1:]}
			class := p.class()
			length = len(rest) - len(p.rest)
			if isTwisted(rest[:length]) {
				class = p.allBut(p.allBut(class))
				if class == "" {
					class = "a-[a]"
				}
				plain.WriteString("[" + class + "]")
				rest, length = p.rest, 0
			}
			if p.failed {
				return source
			}
		}
		plain.WriteString(rest[:length])
		rest = rest[length:]
	}
	return plain.String()
}

// isTwisted reports whether a class has a negated property or takes away a class that is not a plain one.
func isTwisted(class string) bool {
	return strings.Contains(class, `\P{`) || strings.Contains(class, "-[^") || strings.Count(class, "-[") > 1
}

// patternReader reads the classes of an expression, and writes their characters as RE2 has them between brackets.
type patternReader struct {
	rest  string
	depth int
	// failed says that something has no meaning.
	failed bool
}

// maxClasses is how deep classes may nest.
const maxClasses = 100

// take moves behind a text if it comes next.
func (p *patternReader) take(text string) bool {
	rest, found := strings.CutPrefix(p.rest, text)
	p.rest = rest
	return found
}

// class reads a class behind its opening bracket. A class may be taken away at its end, as in [a-z-[aeiou]].
func (p *patternReader) class() string {
	p.depth++
	defer func() { p.depth-- }()
	negative, class := p.take("^"), ""
	p.failed = p.failed || p.depth > maxClasses
	for !p.failed && (class == "" || !strings.HasPrefix(p.rest, "]") && !strings.HasPrefix(p.rest, "-[")) {
		class += p.classRange()
	}
	if negative {
		class = p.allBut(class)
	}
	if p.take("-[") {
		class = p.allBut(p.allBut(class) + p.class())
	}
	p.failed = !p.take("]") || p.failed
	return class
}

// classRange reads a character, an escape, or two characters with a - between them.
func (p *patternReader) classRange() string {
	low, isSingle := p.classAtom()
	if !isSingle || !strings.HasPrefix(p.rest, "-") || strings.HasPrefix(p.rest, "-]") ||
		strings.HasPrefix(p.rest, "-[") {
		return low
	}
	p.take("-")
	high, isSingle := p.classAtom()
	p.failed = p.failed || !isSingle
	return low + "-" + high
}

// classPart is a property, an escape of one letter, or a character.
var classPart = regexp.MustCompile(`(?s)^(?:\\([pP])\{([^}]*)\}|\\(.)|[^\\\[\]])`)

// meaningless are letters and digits whose escapes mean nothing.
var meaningless = regexp.MustCompile(`^[^\PLnrt]|\p{Nd}$`)

// classAtom reads a part of a class, and says whether it is one character.
func (p *patternReader) classAtom() (string, bool) {
	found := classPart.FindStringSubmatch(p.rest)
	if found == nil {
		p.failed = true
		return "", false
	}
	p.take(found[0])
	switch letter := found[3]; {
	case found[1] != "":
		return p.property(found[2], found[1] == "P"), false
	case letter == "":
		c, _ := utf8.DecodeRuneInString(found[0])
		return escaped(c), true
	case several[letter] != "":
		return several[letter], false
	case several[string(letter[0]^' ')] != "":
		return p.allBut(several[string(letter[0]^' ')]), false
	default:
		p.failed = p.failed || meaningless.MatchString(letter)
		return found[0], true
	}
}

// nameStart are the characters that a name of XML begins with.
const nameStart = `:A-Z_a-z\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{2ff}\x{370}-\x{37d}\x{37f}-\x{1fff}\x{200c}-\x{200d}` +
	`\x{2070}-\x{218f}\x{2c00}-\x{2fef}\x{3001}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{fffd}\x{10000}-\x{effff}`

// several are the characters that an escape stands for. The same letter in the other case stands for all others.
var several = map[string]string{
	"s": ` \t\n\r`, "d": `\p{Nd}`, "W": `\p{P}\p{Z}\p{C}\p{Cn}`, "i": nameStart,
	"c": nameStart + `\-.0-9\x{b7}\x{300}-\x{36f}\x{203f}-\x{2040}`,
}

// blocks are the characters of the blocks that people use by their names.
var blocks = map[string]string{
	"IsBasicLatin": `\x{0}-\x{7f}`, "IsLatin-1Supplement": `\x{80}-\x{ff}`, "IsLatinExtended-A": `\x{100}-\x{17f}`,
	"IsLatinExtended-B": `\x{180}-\x{24f}`, "IsGreek": `\x{370}-\x{3ff}`, "IsCyrillic": `\x{400}-\x{4ff}`,
	"IsHebrew": `\x{590}-\x{5ff}`, "IsArabic": `\x{600}-\x{6ff}`, "IsHiragana": `\x{3040}-\x{309f}`,
	"IsKatakana": `\x{30a0}-\x{30ff}`, "IsCJKUnifiedIdeographs": `\x{4e00}-\x{9fff}`,
	"IsHangulSyllables": `\x{ac00}-\x{d7a3}`,
	// RE2 leaves unassigned characters out.
	"C": `\p{C}\p{Cn}`,
}

// property is what \p stands for with this name, or \P.
func (p *patternReader) property(name string, negated bool) string {
	class := blocks[name]
	const longest = 2
	if class == "" {
		p.failed = p.failed || len(name) > longest || unicode.Categories[name] == nil
		class = `\p{` + name + `}`
	}
	if negated {
		return p.allBut(class)
	}
	return class
}

// allBut is a class of all characters that XML texts have, but those of a class.
func (p *patternReader) allBut(class string) string {
	const notInXML = `\x00-\x08\v\f\x0e-\x1f\x{d800}-\x{dfff}\x{fffe}\x{ffff}`
	parsed, err := syntax.Parse("[^"+notInXML+class+"]", syntax.Perl)
	if err != nil {
		p.failed = true
		return ""
	}
	spans := parsed.Rune
	if parsed.Op == syntax.OpLiteral {
		// The parser makes it of a class of one character, or of a letter in both cases.
		spans = []rune{spans[0], spans[0]}
		if parsed.Flags&syntax.FoldCase != 0 {
			other := unicode.SimpleFold(spans[0])
			spans = append(spans, other, other)
		}
	}
	var others strings.Builder
	for ; len(spans) > 0; spans = spans[2:] {
		others.WriteString(escaped(spans[0]))
		if spans[0] != spans[1] {
			others.WriteString("-" + escaped(spans[1]))
		}
	}
	return others.String()
}

// escaped is a character as it stands in a class of RE2 and of XML Schema.
func escaped(c rune) string {
	switch {
	case c == '\t', c == '\n', c == '\r':
		return strings.Trim(fmt.Sprintf("%q", c), "'")
	case strings.ContainsRune(`\|.-^?*+{}()[]`, c):
		return `\` + string(c)
	default:
		return string(c)
	}
}
