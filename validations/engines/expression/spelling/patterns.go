package spelling

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	plainText   = regexp.MustCompile(`^([rR]?)(['"])([^'"]*)['"] $`)
	likePart    = regexp.MustCompile(`\[[^\]]+\]|.`)
	scriptRegex = regexp.MustCompile(`^/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+)/([a-z]*)`)
)

// inText changes what is in a text without escapes, which becomes a raw one.
func (s *speller) inText(text phrase, change func(text string) string) phrase {
	found := plainText.FindStringSubmatch(text.words.String())
	if found == nil {
		s.lost = true
		return text
	}
	s.lost = s.lost || found[1] == "" && strings.Contains(found[3], `\`)
	return one("r"+found[2]+change(found[3])+found[2], text.words[0].at)
}

// likePattern is the pattern of LIKE in SQL: % are any characters, _ is one.
func likePattern(text string) string {
	return "^" + likePart.ReplaceAllStringFunc(text, func(part string) string {
		if part[0] == '[' {
			return part
		}
		return strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(part))
	}) + "$"
}

// pattern reads a regular expression of JavaScript.
func (s *speller) pattern(from word) phrase {
	found := scriptRegex.FindStringSubmatch(s.source[from.at:])
	if found == nil {
		s.lost = true
		return phrase{}
	}
	s.left = wordsOf(s.source, from.at+len(found[0]))
	if flags := strings.Trim(found[2], "gu"); flags != "" {
		found[1] = "(?" + flags + ")" + found[1]
	}
	return one(strconv.Quote(found[1]), from.at)
}
