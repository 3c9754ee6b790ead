package xmltext

import "strings"

// plainPattern returns an expression that means the same, in which no class is negated within another one. libxml2
// reads [\P{L}] and [a-z-[^aeiou]] wrongly. An expression that cannot be read stays as it is.
func plainPattern(source string) string {
	p := &patternReader{source: []rune(source)}
	var plain strings.Builder
	for p.at < len(p.source) {
		begin := p.at
		p.at++
		switch p.source[begin] {
		case '\\':
			p.at = min(p.at+1, len(p.source))
		case '[':
			characters, ok := p.class()
			if !ok {
				return source
			}
			if isTwisted(string(p.source[begin:p.at])) {
				characters.writePlain(&plain)
				continue
			}
		}
		plain.WriteString(string(p.source[begin:p.at]))
	}
	return plain.String()
}

// isTwisted reports whether a class has a negated property or takes away a class that is not a plain one.
func isTwisted(class string) bool {
	return strings.Contains(class, `\P{`) || strings.Contains(class, "-[^") || strings.Count(class, "-[") > 1
}

// writePlain writes the set as a class of XML Schema, without what no XML text has.
func (s set) writePlain(to *strings.Builder) {
	s = s.without(set{0, 8, '\v', '\f', 0xe, 0x1f, 0xd800, 0xdfff, 0xfffe, 0xffff})
	if len(s) == 0 {
		to.WriteString("[a-[a]]")
		return
	}
	to.WriteByte('[')
	for i := 0; i < len(s); i += 2 {
		writeRune(to, s[i])
		if s[i] != s[i+1] {
			to.WriteByte('-')
			writeRune(to, s[i+1])
		}
	}
	to.WriteByte(']')
}

func writeRune(to *strings.Builder, c rune) {
	switch {
	case c == '\t':
		to.WriteString(`\t`)
	case c == '\n':
		to.WriteString(`\n`)
	case c == '\r':
		to.WriteString(`\r`)
	case strings.ContainsRune(`\|.-^?*+{}()[]`, c):
		to.WriteByte('\\')
		to.WriteRune(c)
	default:
		to.WriteRune(c)
	}
}
