// Package ecma compiles regular expressions of ECMA-262, which JSON Schema has, in their Unicode mode.
//
// Expressions without look-around and back-references run on the regexp package, which takes linear time. The others
// run on a matcher that backtracks. It counts its steps instead of looking at a clock, so that the same text always
// gets the same verdict, however busy the machine is.
package ecma

import (
	"fmt"
	"regexp/syntax"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Pattern is a compiled expression. It may be used by several goroutines at once.
type Pattern struct {
	source string
	// linear is the expression for the regexp package; nil where the program is needed.
	linear  *engine.Pattern
	program *program
}

// Check says why Compile would refuse a text, or returns nil.
func Check(source string, limits engine.Limits) error {
	if len(source) > limits.MaxPatternChars {
		return tooLong(limits)
	}
	strict := &parser{source: []rune(source), strict: true, checking: true, names: map[string]int{}}
	if _, err := strict.all(); err == nil {
		return nil
	}
	if _, err := syntax.Parse(source, syntax.Perl); err == nil {
		return nil
	}
	lenient := &parser{source: []rune(source), checking: true, names: map[string]int{}}
	_, err := lenient.all()
	return err
}

func tooLong(limits engine.Limits) error {
	return fmt.Errorf("the pattern is longer than %d characters", limits.MaxPatternChars)
}

// Compile compiles a pattern. A pattern that is invalid in ECMA-262 may be one of RE2, as (?i)a is. Otherwise it is
// read as browsers read patterns without the flag u, if that is unambiguous.
func Compile(source string, limits engine.Limits) (*Pattern, error) {
	if len(source) > limits.MaxPatternChars {
		return nil, tooLong(limits)
	}
	tree, groups, fault := parse(source, true)
	if fault != nil {
		if linear, err := engine.CompilePattern(source, limits); err == nil {
			return &Pattern{source: source, linear: &linear}, nil
		}
		if tree, groups, fault = parse(source, false); fault != nil {
			return nil, fault
		}
	}
	if text, ok := linearSource(tree); ok {
		// What is written out may be longer, and more than RE2 takes.
		longer := limits
		longer.MaxPatternChars = maxLinearChars
		if linear, err := engine.CompilePattern(text, longer); err == nil {
			return &Pattern{source: source, linear: &linear}, nil
		}
	}
	return &Pattern{source: source, program: assemble(tree, groups)}, nil
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
