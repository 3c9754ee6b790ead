package site

import (
	"slices"
	"strings"
)

// excerptWords is how many words of a section a finding shows.
const excerptWords = 36

// passage is a piece of text that is one of the words looked for, or is not.
type passage struct {
	Text string
	Hit  bool
}

// excerpt is the part of a text in which most of the terms are, with them marked.
func excerpt(text string, terms []string) []passage {
	all := words(text)
	if len(all) == 0 {
		return nil
	}
	hits := make([]int, len(all))
	for i, w := range all {
		hits[i] = slices.IndexFunc(terms, func(term string) bool { return matches(w.term, term) })
	}
	from := bestWindow(hits)
	to := min(from+excerptWords, len(all))
	var shown []passage
	if from > 0 {
		shown = append(shown, passage{Text: "… "})
	}
	end := all[from].start
	for i := from; i < to; i++ {
		if hits[i] < 0 {
			continue
		}
		hit := all[i]
		shown = append(shown, passage{Text: text[end:hit.start]}, passage{Text: text[hit.start:hit.end], Hit: true})
		end = hit.end
	}
	if to < len(all) {
		return append(shown, passage{Text: text[end:all[to-1].end] + " …"})
	}
	return append(shown, passage{Text: text[end:]})
}

// matches tells whether a word of a text is one that the index finds for the term.
func matches(word, term string) bool {
	return strings.HasPrefix(word, term) ||
		slices.ContainsFunc(parts(word), func(part string) bool { return strings.HasPrefix(part, term) })
}

// bestWindow is where the window begins that has the most different terms; the first one, a little before its first
// hit.
func bestWindow(hits []int) int {
	const before = 6
	best, most := 0, 0
	for i, hit := range hits {
		if hit < 0 {
			continue
		}
		from := max(0, i-before)
		different := make(map[int]bool)
		for _, other := range hits[from:min(from+excerptWords, len(hits))] {
			if other >= 0 {
				different[other] = true
			}
		}
		if len(different) > most {
			best, most = from, len(different)
		}
	}
	return best
}
