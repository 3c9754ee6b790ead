package spelling

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common"
)

// lexeme is a part of an expression; the group is white space and comments.
var lexeme = regexp.MustCompile(`(?s)((?:\s|//[^\n]*)+)` +
	`|(?:[rR][bB]?|[bB][rR])(?:""".*?"""|'''.*?'''|"[^"\n]*"|'[^'\n]*')` +
	`|[bB]?(?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')` +
	"|`[^`]*`" + `|[$\pL_][\pL\w]*|0[xX][\da-fA-F]+[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?[uU]?` +
	`|[=!]==|[=!<>]=|=>|=~|<>|&&|\|\||\.\?|.`)

// word is a part of an expression, and its place in the expression as it was written.
type word struct {
	text string
	at   int
}

// wordsOf returns the words of a part of a source, and its end.
func wordsOf(source string, from int) []word {
	var words []word
	for _, m := range lexeme.FindAllStringSubmatchIndex(source[from:], -1) {
		if m[2] < 0 {
			words = append(words, word{source[from+m[0] : from+m[1]], from + m[0]})
		}
	}
	return append(words, word{"", len(source)})
}

// Words are an expression in the words of CEL.
type Words []word

// String is their text.
func (words Words) String() string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.text + " ")
	}
	return b.String()
}

// Locate finds a place in their text where it was in the expression as it was written.
func (words Words) Locate(source string, found common.Location) common.Location {
	offset, known := common.NewTextSource(words.String()).LocationOffset(found)
	if !known {
		return found
	}
	at, end := len(source), 0
	for _, w := range words {
		if end += utf8.RuneCountInString(w.text) + 1; int(offset) < end {
			at = w.at
			break
		}
	}
	// The space keeps the end of the expression on its last line.
	place, _ := common.NewTextSource(source + " ").
		OffsetLocation(int32(utf8.RuneCountInString(source[:at]))) //nolint:gosec // A rule is short.
	return place
}
