package engine

import (
	"errors"
	"fmt"

	"github.com/dlclark/regexp2/v2"
	"github.com/dlclark/regexp2/v2/syntax"
)

// maxECMAStack bounds the memory of a search, in numbers of 8 bytes.
const maxECMAStack = 1 << 20

// ECMAPattern is a regular expression of ECMA-262, which JSON Schema has, in Unicode mode. What RE2 has too runs on the
// regexp package, which takes linear time. The rest runs on a library that backtracks. It bounds its time and its
// memory; a search beyond them has no verdict. A pattern may be used by several goroutines at once.
type ECMAPattern struct {
	source string
	// Linear is an equivalent pattern of RE2; nil where the library is needed.
	Linear *Pattern
	search *regexp2.Regexp
}

// CompileECMA compiles a pattern. A pattern that is invalid in ECMA-262 may be one of RE2, as (?i)a is. Otherwise it is
// read as browsers read patterns without the flag u, if only its classes need that.
func CompileECMA(source string, limits Limits) (*ECMAPattern, error) {
	if err := limits.checkPattern(source); err != nil {
		return nil, err
	}
	r := &ecmaReader{}
	meaning := r.read(source)
	search, fault := compileECMA(source, regexp2.ECMAScript|regexp2.Unicode)
	text := r.text.String()
	if meaning != nil || fault != nil {
		text, r.open = source, false
	}
	if !r.open {
		// What is written out is longer.
		longer := limits
		longer.MaxPatternChars = limits.MaxPlainPatternChars
		if linear, err := CompilePattern(text, longer); err == nil {
			return &ECMAPattern{source: source, Linear: &linear}, nil
		}
	}
	if meaning != nil {
		return nil, meaning
	}
	if len(source) > limits.MaxPatternChars {
		return nil, fmt.Errorf("the pattern is longer than %d characters", limits.MaxPatternChars)
	}
	if fault != nil {
		// The flag u forbids [\w-.], of which there is one meaning only.
		e, ok := errors.AsType[*ecmaError](fault)
		isClassInRange := ok &&
			(e.Code == syntax.ErrBadClassInCharRange || e.Code == syntax.ErrShorthandClassInCharRange)
		if search, _ = compileECMA(source, regexp2.ECMAScript); search == nil || !isClassInRange {
			return nil, fault
		}
	}
	search.MatchTimeout = limits.MaxPatternTime
	return &ECMAPattern{source: source, search: search}, nil
}

// CompileWholeECMA compiles a pattern that the whole of a text must match: one of RE2, or else one of ECMA-262, which
// has look-around and back-references.
func CompileWholeECMA(source string, limits Limits) (*ECMAPattern, error) {
	const begin, end = "^(?:", ")$"
	longer := limits
	longer.MaxPatternChars += len(begin + end)
	// The source is compiled alone first: "a)(b" is not a pattern, although it would be one between brackets.
	_, fault := CompilePattern(source, limits)
	if fault == nil {
		var linear Pattern
		if linear, fault = CompilePattern(begin+source+end, longer); fault == nil {
			return &ECMAPattern{source: source, Linear: &linear}, nil
		}
	}
	if _, err := CompileECMA(source, limits); err != nil {
		return nil, fault
	}
	return CompileECMA(begin+source+end, longer)
}

func compileECMA(source string, options regexp2.RegexOptions) (*regexp2.Regexp, error) {
	search, err := regexp2.Compile(source, options, regexp2.OptionMaxBacktrackingStackSize(maxECMAStack))
	if fault, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, (*ecmaError)(fault)
	}
	if err != nil {
		return nil, fmt.Errorf("compile pattern: %w", err)
	}
	return search, nil
}

// ecmaError has the words of the library without the expression, which its readers have before them.
type ecmaError syntax.Error

func (e *ecmaError) Error() string {
	return fmt.Sprintf(string(e.Code), e.Args...)
}

// String returns the expression as it was written.
func (p *ECMAPattern) String() string {
	return p.source
}

// Match looks for the pattern in a text. Its error is an ExhaustedError: the search has taken too much.
func (p *ECMAPattern) Match(text string) (bool, error) {
	if p.Linear != nil {
		return p.Linear.RE.MatchString(text), nil
	}
	found, err := p.search.MatchString(text)
	if err != nil {
		return false, &ExhaustedError{Reason: "needed too much time or memory for the pattern " + Quote(p.source)}
	}
	return found, nil
}
