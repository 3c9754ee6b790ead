// Package ecma compiles regular expressions of ECMA-262, which JSON Schema has, in their Unicode mode.
//
// Expressions that RE2 has too run on the regexp package, which takes linear time. The others run on a library that
// backtracks. It bounds its time and its memory; a search beyond them has no verdict.
package ecma

import (
	"errors"
	"fmt"

	"github.com/dlclark/regexp2/v2"
	"github.com/dlclark/regexp2/v2/syntax"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// maxStack bounds the memory of a search, in numbers of 8 bytes.
const maxStack = 1 << 20

// Pattern is a compiled expression. It may be used by several goroutines at once.
type Pattern struct {
	source string
	// linear is the expression for the regexp package; nil where the library is needed.
	linear *engine.Pattern
	search *regexp2.Regexp
}

// Compile compiles a pattern. A pattern that is invalid in ECMA-262 may be one of RE2, as (?i)a is. Otherwise it is
// read as browsers read patterns without the flag u, if only its classes need that.
func Compile(source string, limits engine.Limits) (*Pattern, error) {
	if len(source) > limits.MaxPatternChars {
		return nil, fmt.Errorf("the pattern is longer than %d characters", limits.MaxPatternChars)
	}
	r := &reader{}
	meaning := r.read(source)
	search, fault := compile(source, regexp2.ECMAScript|regexp2.Unicode)
	text := r.text.String()
	if meaning != nil || fault != nil {
		text, r.open = source, false
	}
	if !r.open {
		// What is written out is longer.
		longer := limits
		longer.MaxPatternChars = maxLinearChars
		if linear, err := engine.CompilePattern(text, longer); err == nil {
			return &Pattern{source: source, linear: &linear}, nil
		}
	}
	if meaning != nil {
		return nil, meaning
	}
	if fault != nil {
		// The flag u forbids [\w-.], of which there is one meaning only.
		if search, _ = compile(source, regexp2.ECMAScript); search == nil || !isClassInRange(fault) {
			return nil, fault
		}
	}
	search.MatchTimeout = limits.MaxPatternTime
	return &Pattern{source: source, search: search}, nil
}

func compile(source string, options regexp2.RegexOptions) (*regexp2.Regexp, error) {
	search, err := regexp2.Compile(source, options, regexp2.OptionMaxBacktrackingStackSize(maxStack))
	if fault, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, &syntaxError{code: fault.Code, words: fmt.Sprintf(string(fault.Code), fault.Args...)}
	}
	if err != nil {
		return nil, fmt.Errorf("compile pattern: %w", err)
	}
	return search, nil
}

// syntaxError has the words of the library without the expression, which its readers have before them.
type syntaxError struct {
	code  syntax.ErrorCode
	words string
}

func (e *syntaxError) Error() string {
	return e.words
}

func isClassInRange(fault error) bool {
	e, ok := errors.AsType[*syntaxError](fault)
	return ok && (e.code == syntax.ErrBadClassInCharRange || e.code == syntax.ErrShorthandClassInCharRange)
}

// String returns the expression as it was written.
func (p *Pattern) String() string {
	return p.source
}

// Linear returns an equivalent pattern for RE2, or false if there is none.
func (p *Pattern) Linear() (engine.Pattern, bool) {
	if p.linear == nil {
		return engine.Pattern{}, false
	}
	return *p.linear, true
}

// Match looks for the pattern in a text. Its error is an engine.ExhaustedError: the search has taken too much.
func (p *Pattern) Match(text string) (bool, error) {
	if p.linear != nil {
		return p.linear.RE.MatchString(text), nil
	}
	found, err := p.search.MatchString(text)
	if err != nil {
		return false, &engine.ExhaustedError{
			Reason: "needed too much time or memory for the pattern " + engine.Quote(p.source),
		}
	}
	return found, nil
}
