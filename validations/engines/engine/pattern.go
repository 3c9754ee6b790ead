package engine

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Pattern is an RE2 expression whose cost for an input is known before it is matched.
type Pattern struct {
	RE   *regexp.Regexp
	size int64
}

// CompilePattern refuses what is too long or does not compile; RE2 has neither look-around nor back-references.
func CompilePattern(source string, limits Limits) (Pattern, error) {
	if len(source) > limits.MaxPatternChars {
		return Pattern{}, fmt.Errorf("pattern is longer than %d characters", limits.MaxPatternChars)
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern is not a regular expression of RE2: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return Pattern{}, fmt.Errorf("compile pattern: %w", err)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return Pattern{}, fmt.Errorf("compile pattern: %w", err)
	}
	return Pattern{RE: re, size: int64(len(program.Inst))}, nil
}

// CompileWholePattern compiles a pattern that the whole of a text must match, as those of XML Schema and Table Schema.
func CompileWholePattern(source string, limits Limits) (Pattern, error) {
	// The source is compiled alone first: "a)(b" is not a pattern, although it would be one between brackets.
	if _, err := CompilePattern(source, limits); err != nil {
		return Pattern{}, err
	}
	const anchored = "^(?:%s)$"
	limits.MaxPatternChars += len(anchored)
	return CompilePattern(fmt.Sprintf(anchored, source), limits)
}

// Work is what matching the text costs at worst.
func (p Pattern) Work(text string) int64 {
	return p.size * int64(len(text)+1)
}
