package engine

import (
	"errors"
	"regexp"
	"strings"
)

// spaces and lineEnds are what ECMA-262 counts as such, and RE2 does not.
const (
	spaces   = `\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`
	lineEnds = `\n\r\x{2028}\x{2029}`
)

// ecmaReader reads an expression to write it for the regexp package.
type ecmaReader struct {
	text    strings.Builder
	inClass bool
	// open says that no such expression is known.
	open bool
}

// read writes an expression for the regexp package that matches the same texts. What RE2 does not have, such as
// look-around, it leaves as it is, to be refused by RE2. Its error is a fault that the library does not find.
func (r *ecmaReader) read(source string) error {
	for source != "" {
		write := r.next
		if source[0] == '\\' && len(source) > 1 {
			write = r.escape
		}
		length, err := write(source)
		if err != nil {
			return err
		}
		source = source[length:]
	}
	return nil
}

// next writes the character that the source begins with, and returns how long it is there.
func (r *ecmaReader) next(source string) (int, error) {
	c := source[0]
	switch {
	case c == ']':
		r.inClass = false
	case r.inClass && c == '[':
		r.text.WriteByte('\\')
	case r.inClass:
	case c == '[':
		r.inClass = true
		// RE2 does not have [] and [^].
		r.open = r.open || strings.HasPrefix(source, "[]") || strings.HasPrefix(source, "[^]")
	case c == '.':
		r.text.WriteString("[^" + lineEnds + "]")
		return 1, nil
	case strings.HasPrefix(source, "(?") && !knownGroup.MatchString(source):
		return 0, errors.New("there is no group of this kind: (?")
	}
	r.text.WriteByte(c)
	return 1, nil
}

// knownGroup is the beginning of a group that ECMA-262 has.
var knownGroup = regexp.MustCompile(`^\(\?[:=!<]`)

// unicodeEscape is an escape of a character by its number; one in UTF-16 may be half of a character.
var unicodeEscape = regexp.MustCompile(`^\\u(?:\{([[:xdigit:]]+)\}|([[:xdigit:]]{4}))`)

// escape writes an escape, and returns how long it is in the source.
func (r *ecmaReader) escape(source string) (int, error) {
	const short = 2
	text, known := r.meaning(source[1])
	number := unicodeEscape.FindStringSubmatch(source)
	switch c := source[1]; {
	case known:
		r.text.WriteString(text)
	case number != nil:
		digits := number[1] + number[2]
		r.open = r.open || digits[0] == 'd' || digits[0] == 'D'
		r.text.WriteString(`\x{` + digits + "}")
		return len(number[0]), nil
	case 'a' <= c|0x20 && c|0x20 <= 'z' && strings.IndexByte("SbBcku", c) < 0:
		return 0, errors.New(`\` + source[1:short] + " means nothing in ECMA-262")
	default:
		r.open = true
	}
	return short, nil
}

// meaning is what RE2 has for an escape of one character.
func (r *ecmaReader) meaning(c byte) (string, bool) {
	escape := `\` + string(rune(c))
	switch {
	case c == 's' && r.inClass:
		return spaces, true
	case c == 's':
		return "[" + spaces + "]", true
	case c == 'S' && !r.inClass:
		return "[^" + spaces + "]", true
	case c == 'b', c == 'B':
		return escape, !r.inClass
	default:
		return escape, strings.IndexByte(`dDwWxpPtnvfr-^$\.*+?()[]{}|/`, c) >= 0
	}
}
