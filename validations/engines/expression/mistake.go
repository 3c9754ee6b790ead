package expression

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// mistake says in plain words what is wrong with an expression, and where. CEL's own messages list tokens of its
// grammar and signatures of its functions, and do not know what people write in other languages.
func (c *Rules) mistake(env *cel.Env, source string, found *cel.Error) error {
	code := scan(source)
	at := offset(code.plain, found.Location.Line(), found.Location.Column())
	var words string
	if token, isSyntax := strings.CutPrefix(found.Message, "Syntax error: "); isSyntax {
		at, words = syntaxMistake(code, at, token)
	} else {
		at, words = c.meaningMistake(env, code, at, found.Message)
	}
	if found.Location.Line() < 1 || found.Location.Column() < 0 {
		// What is wrong with the expression as a whole has no place.
		return errors.New(words)
	}
	return errors.New(place(code.plain, at) + engine.ClipTo(words, 4*engine.MaxQuoted))
}

// offset is the index of a place that CEL gives as a line from 1 and a column from 0.
func offset(source []rune, line, column int) int {
	at := 0
	for range line - 1 {
		for at < len(source) && source[at] != '\n' {
			at++
		}
		at++
	}
	return max(0, min(at+column, len(source)))
}

// place is the start of a message: the column, and the line where there are several.
func place(source []rune, at int) string {
	before := string(source[:min(at, len(source))])
	line := strings.Count(before, "\n") + 1
	column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
	if strings.Contains(string(source), "\n") {
		return fmt.Sprintf("line %d, column %d: ", line, column)
	}
	return fmt.Sprintf("column %d: ", column)
}

// rephrasing is how one kind of mistake is said.
type rephrasing struct {
	found *regexp.Regexp
	words string
}

// say rephrases what an expression matches as a whole.
func say(found, words string) rephrasing {
	return rephrasing{regexp.MustCompile(`^(?s:` + found + `)$`), words}
}

// rephrase returns the words of the first rephrasing that fits, with what its groups have found in the words of shown.
func rephrase(list []rephrasing, message string, shown func(string) string) (string, bool) {
	for _, r := range list {
		groups := r.found.FindStringSubmatch(message)
		if groups == nil {
			continue
		}
		words := r.words
		for i, group := range groups {
			words = strings.ReplaceAll(words, "$"+strconv.Itoa(i), shown(group))
		}
		return words, true
	}
	return "", false
}
