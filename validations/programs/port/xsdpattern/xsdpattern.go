// Package xsdpattern translates the patterns of XML Schema for the regexp package, which takes linear time. It is what
// the service and its programs share of them.
package xsdpattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// maxPatternChars is the length of a pattern, which may list the names of rooms. maxPatternSize is how many characters
// and classes it has once its repetitions are written out, maxClasses how deep classes nest.
const (
	maxPatternChars = 4000
	maxPatternSize  = 20_000
	maxClasses      = 100
)

// Compile compiles an expression of XML Schema, which matches whole texts, and counts its instructions. In it ^ and $
// stand for themselves. What the language does not have and people write nevertheless, such as anchors and look-around,
// is refused with a hint, because it would never match what is meant. A backslash may stand before any sign, as most
// programs allow.
func Compile(source string) (*regexp.Regexp, int64, error) {
	if len(source) > maxPatternChars {
		return nil, 0, fmt.Errorf("the pattern is longer than %d characters", maxPatternChars)
	}
	t := &translator{source: []rune(source)}
	for t.at < len(t.source) {
		if err := t.piece(); err != nil {
			return nil, 0, err
		}
	}
	// The text is parsed alone first: "a)(b" is not a pattern, although it would be one between brackets.
	parsed, err := syntax.Parse(t.linear.String(), syntax.Perl)
	if fault, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, 0, errors.New(string(fault.Code))
	}
	if err != nil {
		return nil, 0, err
	}
	if sizeOf(parsed) > maxPatternSize {
		return nil, 0, errors.New("the pattern repeats too much")
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, err
	}
	compiled, err := regexp.Compile("^(?:" + t.linear.String() + ")$")
	return compiled, int64(len(program.Inst)), err
}

// sizeOf is how many characters and classes an expression has once its repetitions are written out.
func sizeOf(re *syntax.Regexp) int {
	size := 1
	switch {
	case re.Op == syntax.OpLiteral:
		size = len(re.Rune)
	case len(re.Sub) > 0:
		size = 0
	}
	for _, sub := range re.Sub {
		size = min(size+sizeOf(sub), maxPatternSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size = min(size*max(re.Min, re.Max, 1), maxPatternSize+1)
	}
	return size
}

// Class reads a class of an expression, which begins behind its opening bracket. It returns the members of the same
// class of the regexp package, and how long it is with its closing bracket.
func Class(source string) (string, int, error) {
	t := &translator{source: []rune(source)}
	members, err := t.class(0)
	return members, len(string(t.source[:min(t.at, len(t.source))])), err
}

// translator reads an expression of XML Schema and writes that of the regexp package which means the same.
type translator struct {
	source []rune
	at     int
	depth  int
	linear strings.Builder
}

func (t *translator) fault(at int, detail string) error {
	return fmt.Errorf("at character %d: %s", at+1, detail)
}

// next returns the next character, -1 at the end.
func (t *translator) next() rune {
	if t.at >= len(t.source) {
		return -1
	}
	return t.source[t.at]
}

// piece reads a character, a class, a sign of a group, or how often something is repeated.
func (t *translator) piece() error {
	at, c := t.at, t.next()
	t.at++
	switch {
	case c == '^' && at == 0, c == '$' && t.at == len(t.source):
		return t.fault(at, fmt.Sprintf("%c stands for itself in patterns of XML Schema, which always match the whole "+
			`text: leave it out, or write \%c`, c, c))
	case c == '(' && t.next() == '?':
		return t.fault(at, "XML Schema has no (?...): a group is written as (...), and look-around does not exist")
	case c == '(':
		t.linear.WriteString("(?:")
	case c == ')' || c == '|':
		t.linear.WriteRune(c)
	case strings.ContainsRune("?*+{", c):
		return t.repetition(at)
	case c == '.':
		t.linear.WriteString(`[^\n\r]`)
	case c == ']':
		return t.fault(at, "a single ] needs a backslash")
	case c == '[':
		class, err := t.class(at)
		t.linear.WriteString(bracketed(class))
		return err
	case c == '\\':
		class, err := t.escape()
		t.linear.WriteString(bracketed(class))
		return err
	default:
		t.linear.WriteString(regexp.QuoteMeta(string(c)))
	}
	return nil
}

var bounds = regexp.MustCompile(`^(?:[?*+]|\{\d+(?:,\d*)?\})`)

// repetition reads ?, *, +, {2}, {2,} or {2,3}, and refuses a second one behind it.
func (t *translator) repetition(at int) error {
	found := bounds.FindString(string(t.source[at:]))
	if found == "" {
		return t.fault(at, "a repetition is written as {2}, {2,} or {2,3}")
	}
	t.linear.WriteString(found)
	t.at = at + len(found)
	if strings.ContainsRune("?*+{", t.next()) {
		return t.fault(t.at, "XML Schema has no quantifier of a quantifier, such as .*? or a++")
	}
	return nil
}

// class reads a class behind its opening bracket. A class may be taken away at its end, as in [a-z-[aeiou]].
func (t *translator) class(opened int) (string, error) {
	t.depth++
	defer func() { t.depth-- }()
	if t.depth > maxClasses {
		return "", t.fault(t.at, "classes are nested too deeply")
	}
	negative := t.next() == '^'
	if negative {
		t.at++
	}
	var members strings.Builder
	for first := t.at; t.at < len(t.source); {
		at, c := t.at, t.next()
		t.at++
		switch {
		case c == ']' && at == first:
			return "", t.fault(at, "a class has no characters")
		case c == ']':
			return settled(members.String(), negative), nil
		case c == '-' && t.next() == '[' && at > first:
			t.at++
			away, err := t.class(t.at - 1)
			if err == nil && t.next() != ']' {
				err = t.fault(opened, "this [ is never closed")
			}
			t.at++
			return settled(settled(settled(members.String(), negative), true)+away, true), err
		}
		t.at = at
		more, err := t.span()
		if err != nil {
			return "", err
		}
		members.WriteString(more)
	}
	return "", t.fault(opened, "this [ is never closed")
}

// span reads a character, an escape, or two characters with a - between them.
func (t *translator) span() (string, error) {
	low, err := t.single()
	// A hyphen at the end of a class, or behind several characters, stands for itself.
	if err != nil || t.next() != '-' || t.at+1 >= len(t.source) || strings.ContainsRune("[]", t.source[t.at+1]) ||
		strings.Contains(low, "-") {
		return low, err
	}
	t.at++
	at := t.at
	high, err := t.single()
	if err != nil {
		return "", err
	}
	if _, err := syntax.Parse("["+low+"-"+high+"]", syntax.Perl); err != nil || strings.Contains(high, "-") {
		return "", t.fault(at, "a range in [] goes from one character to a later one")
	}
	return low + "-" + high, nil
}

func (t *translator) single() (string, error) {
	c := t.next()
	if c == '[' {
		return "", t.fault(t.at, "a single [ needs a backslash in []")
	}
	t.at++
	if c == '\\' {
		return t.escape()
	}
	return member(c), nil
}

// escape reads what follows a backslash, as members of a class.
func (t *translator) escape() (string, error) {
	at, c := t.at, t.next()
	t.at++
	if c < 0 {
		return "", t.fault(at, `a \ has nothing to escape`)
	}
	if plain, known := map[rune]rune{'n': '\n', 'r': '\r', 't': '\t'}[c]; known {
		return member(plain), nil
	}
	members, known := map[rune]string{
		's': `\t-\n\r `, 'd': `\p{Nd}`, 'w': settled(`\p{P}\p{Z}`+others, true), 'i': nameStart,
		'c': nameStart + `\-.0-9\x{b7}\x{300}-\x{36f}\x{203f}-\x{2040}`,
	}[unicode.ToLower(c)]
	switch {
	case c == 'p' || c == 'P':
		property, err := t.property()
		return settled(property, c == 'P'), err
	case known:
		return settled(members, unicode.IsUpper(c)), nil
	case unicode.IsLetter(c) || unicode.IsDigit(c):
		return "", t.fault(at, fmt.Sprintf(`\%c means nothing in XML Schema`, c))
	default:
		return member(c), nil
	}
}

// Members of classes: what is neither a letter nor a number nor a sign nor a space, and what a name of XML begins with.
const (
	others    = `\p{C}\p{Cn}`
	nameStart = `:A-Z_a-z\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{2ff}\x{370}-\x{37d}\x{37f}-\x{1fff}\x{200c}-\x{200d}` +
		`\x{2070}-\x{218f}\x{2c00}-\x{2fef}\x{3001}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{fffd}\x{10000}-\x{effff}`
)

var category = regexp.MustCompile(`^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?)$`)

// property reads the name behind \p, of a category or of a block that people use in names.
func (t *translator) property() (string, error) {
	opened := t.at
	name, _, closed := strings.Cut(string(t.source[opened:]), "}")
	t.at += len([]rune(name)) + 1
	name, open := strings.CutPrefix(name, "{")
	if !open || !closed {
		return "", t.fault(opened, `\p is followed by the name of a property, as in \p{L}`)
	}
	block, known := map[string]string{
		"IsBasicLatin": `\x{0}-\x{7f}`, "IsLatin-1Supplement": `\x{80}-\x{ff}`, "IsLatinExtended-A": `\x{100}-\x{17f}`,
		"IsLatinExtended-B": `\x{180}-\x{24f}`, "IsGreek": `\x{370}-\x{3ff}`, "IsCyrillic": `\x{400}-\x{4ff}`,
		"IsHebrew": `\x{590}-\x{5ff}`, "IsArabic": `\x{600}-\x{6ff}`, "IsHiragana": `\x{3040}-\x{309f}`,
		"IsKatakana": `\x{30a0}-\x{30ff}`, "IsCJKUnifiedIdeographs": `\x{4e00}-\x{9fff}`,
		"IsHangulSyllables": `\x{ac00}-\x{d7a3}`,
	}[name]
	switch {
	case known:
		return block, nil
	case !category.MatchString(name):
		return "", t.fault(opened, fmt.Sprintf("the property %q is not known here", name))
	case name == "C":
		return others, nil
	default:
		return `\p{` + name + `}`, nil
	}
}

// settled are the members of a class of the regexp package, or of its opposite, as spans.
func settled(members string, negative bool) string {
	class := bracketed(members)
	if negative {
		class = strings.Replace(class, "[", "[^", 1)
		if members == "" {
			class = `[\x{0}-\x{10FFFF}]`
		}
	}
	parsed, err := syntax.Parse(class, syntax.Perl)
	if err != nil {
		return members // The whole pattern is refused for it.
	}
	spans := parsed.Rune
	switch parsed.Op {
	case syntax.OpLiteral:
		// [Dd] is read as a letter in any case.
		first := spans[0]
		spans = []rune{first, first}
		for c := unicode.SimpleFold(first); parsed.Flags&syntax.FoldCase != 0 && c != first; c = unicode.SimpleFold(c) {
			spans = append(spans, c, c)
		}
	case syntax.OpAnyChar:
		spans = []rune{0, unicode.MaxRune}
	default: // A class has its spans.
	}
	var b strings.Builder
	for i := 0; i+1 < len(spans); i += 2 {
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, spans[i], spans[i+1])
	}
	return b.String()
}

// bracketed is a class of the regexp package. One without members matches nothing.
func bracketed(members string) string {
	if members == "" {
		return `[^\x{0}-\x{10FFFF}]`
	}
	return "[" + members + "]"
}

// member is a character as a class has it.
func member(c rune) string {
	return fmt.Sprintf(`\x{%x}`, c)
}
