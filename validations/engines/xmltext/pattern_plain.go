package xmltext

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/simplevalidations/simplevalidations/validations/programs/port/xsdpattern"
)

// plainPattern returns an expression that means the same, in which no class is negated within another one. libxml2
// reads [\P{L}] and [a-z-[^aeiou]] wrongly. An expression that cannot be read stays as it is: libxml2 says what is
// wrong.
func plainPattern(source string) string {
	var plain strings.Builder
	for rest := source; rest != ""; {
		length := 1
		written := ""
		switch rest[0] {
		case '\\':
			length = min(2, len(rest))
		case '[':
			members, read, err := xsdpattern.Class(rest[1:])
			if err != nil {
				return source
			}
			if length += read; isTwisted(rest[:length]) {
				if written, err = classOf(members); err != nil {
					return source
				}
			}
		}
		if written == "" {
			written = rest[:length]
		}
		plain.WriteString(written)
		rest = rest[length:]
	}
	return plain.String()
}

// isTwisted reports whether a class has a negated property or takes away a class that is not a plain one.
func isTwisted(class string) bool {
	return strings.Contains(class, `\P{`) || strings.Contains(class, "-[^") || strings.Count(class, "-[") > 1
}

// classOf writes a class of RE2, whose members these are, as one of XML Schema. It has the characters alone that XML
// texts have.
func classOf(members string) (string, error) {
	const notInXML = `\x00-\x08\v\f\x0e-\x1f\x{d800}-\x{dfff}\x{fffe}\x{ffff}`
	for range 2 {
		parsed, err := syntax.Parse("[^"+notInXML+members+"]", syntax.Perl)
		if err != nil {
			return "", err
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
		members = others.String()
	}
	if members == "" {
		return "[a-[a]]", nil
	}
	return "[" + members + "]", nil
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
