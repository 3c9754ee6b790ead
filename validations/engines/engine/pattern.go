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
	if err := limits.checkPattern(source); err != nil {
		return Pattern{}, err
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern is not a regular expression of RE2: %s", ClipTo(err.Error(), MaxMessage))
	}
	// What can be parsed can be compiled.
	program, _ := syntax.Compile(parsed.Simplify())
	re, _ := regexp.Compile(source)
	return Pattern{RE: re, size: int64(len(program.Inst))}, nil
}

// plainPattern has no repetition, so that its size bounds what it costs. Lists of words are such patterns.
var plainPattern = regexp.MustCompile(`^(?s:[^\\*+?{]|\\.|\(\?:)*$`)

// checkPattern refuses what is too long.
func (l Limits) checkPattern(source string) error {
	most := l.MaxPatternChars
	if len(source) > most && plainPattern.MatchString(source) {
		most = max(most, l.MaxPlainPatternChars)
	}
	if len(source) > most {
		return fmt.Errorf("the pattern is longer than %d characters", most)
	}
	return nil
}

// Work is what matching the text costs at worst.
func (p Pattern) Work(text string) int64 {
	return p.size * int64(len(text)+1)
}
