package site

import (
	"strings"
	"unicode"
)

// word is a word of a text in the form that is compared, and where it stands in the text.
type word struct {
	term       string
	start, end int
}

// words cuts a text into its words. Names like SV_RUN_LEASE and quota_exceeded are one word.
func words(text string) []word {
	var found []word
	start := -1
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
		switch {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			found = append(found, word{stem(text[start:i]), start, i})
			start = -1
		}
	}
	if start >= 0 {
		found = append(found, word{stem(text[start:]), start, len(text)})
	}
	return found
}

// stem makes words equal that differ in case or number only.
func stem(text string) string {
	term := strings.ToLower(text)
	const shortest = 4
	switch {
	case len(term) < shortest || strings.HasSuffix(term, "ss"):
		return term
	case strings.HasSuffix(term, "ies"):
		return strings.TrimSuffix(term, "ies") + "y"
	default:
		return strings.TrimSuffix(term, "s")
	}
}

// parts are the words that a name is made of, besides itself.
func parts(term string) []string {
	if !strings.Contains(term, "_") {
		return nil
	}
	return strings.FieldsFunc(term, func(r rune) bool { return r == '_' })
}
