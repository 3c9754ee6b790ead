package core

import (
	"strings"
	"unicode/utf8"
)

// Storable makes text from outside fit for a text column, which takes neither NUL nor what is not UTF-8: U+FFFD stands
// for them.
func Storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// StorableUpTo is Storable for a column that keeps so many characters and no more.
func StorableUpTo(text string, limit int) string {
	text = Storable(text)
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}

// isStorable reports whether a text column takes the text as it is.
func isStorable(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\x00")
}
