package engines

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern is an RE2 expression whose cost for an input is known before it is matched.
type pattern struct {
	re   *regexp.Regexp
	size int64
}

// compilePattern refuses what is too long or does not compile; RE2 has neither look-around nor back-references.
func compilePattern(source string, limits Limits) (pattern, error) {
	if len(source) > limits.MaxPatternChars {
		return pattern{}, fmt.Errorf("pattern is longer than %d characters", limits.MaxPatternChars)
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return pattern{}, fmt.Errorf("pattern is not a regular expression of RE2: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return pattern{}, fmt.Errorf("compile pattern: %w", err)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return pattern{}, fmt.Errorf("compile pattern: %w", err)
	}
	return pattern{re: re, size: int64(len(program.Inst))}, nil
}

// work is what matching the text costs at worst.
func (p pattern) work(text string) int64 {
	return p.size * int64(len(text)+1)
}
