package site

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// A word in a heading or a title says more about a section than one in its text, and most in a short heading.
	headingWeight, titleWeight = 24, 4
	// Repetitions in a long text count up to this many times.
	maxRepetitions = 3

	maxTerms       = 8
	maxFindings    = 20
	maxFromOnePage = 3

	// excerptBefore and excerptBytes bound the part of a section that a finding shows.
	excerptBefore, excerptBytes = 60, 240
)

// index searches the sections of all pages one after the other: they are few, and part of the program.
type index struct {
	sections []indexed
}

// indexed is a section in the form that is compared.
type indexed struct {
	section

	title, heading, words string
}

func newIndex(articles []article) *index {
	x := &index{}
	for _, a := range articles {
		for _, s := range a.sections {
			entry := indexed{section: s, title: fold(s.Page), heading: fold(s.Heading), words: fold(s.text)}
			if s.Heading == "" {
				// The beginning of a page stands for the whole of it.
				entry.heading = entry.title
			}
			x.sections = append(x.sections, entry)
		}
	}
	return x
}

// findings are the sections that a search found, the best first.
type findings struct {
	Sections []finding
	// Partly is true when no section has all of the words, so these have as many as any.
	Partly bool
}

// finding is a section with the part of its text that has the words.
type finding struct {
	section

	Excerpt []passage
	matched int
	score   float64
}

// passage is a piece of text; a Hit is one of the words that were searched.
type passage struct {
	Text string
	Hit  bool
}

// find returns the sections that have all words of a query, or else most of them.
func (x *index) find(query string) findings {
	terms := termsOf(query)
	found := make([]finding, len(x.sections))
	for _, term := range terms {
		x.score(found, term)
	}
	most := 0
	for i := range found {
		found[i].section = x.sections[i].section
		most = max(most, found[i].matched)
	}
	found = slices.DeleteFunc(found, func(f finding) bool { return f.matched == 0 || f.matched < most })
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(b.score, a.score) })
	fromPage := make(map[string]int)
	found = slices.DeleteFunc(found, func(f finding) bool {
		fromPage[f.Page]++
		return fromPage[f.Page] > maxFromOnePage
	})
	found = found[:min(len(found), maxFindings)]
	for i := range found {
		found[i].Excerpt = excerpt(found[i].text, terms)
	}
	return findings{Sections: found, Partly: most < len(terms)}
}

// score adds to the finding of each section what it has for a term. A term that few sections have weighs more.
func (x *index) score(found []finding, term string) {
	scores, sections := make([]float64, len(found)), 0
	for i, s := range x.sections {
		scores[i] = s.score(term)
		if scores[i] > 0 {
			sections++
		}
	}
	rarity := math.Log(1 + float64(len(found))/float64(max(1, sections)))
	for i, score := range scores {
		if score > 0 {
			found[i].matched++
			found[i].score += rarity * score
		}
	}
}

// score weighs where a section has words that begin with the term. Whole words count twice.
func (s indexed) score(term string) float64 {
	hits := func(text string, atMost int) float64 {
		return float64(min(strings.Count(text, " "+term), atMost) + min(strings.Count(text, " "+term+" "), atMost))
	}
	heading := headingWeight / float64(1+len(strings.Fields(s.heading)))
	return heading*hits(s.heading, 1) + titleWeight*hits(s.title, 1) + hits(s.words, maxRepetitions)
}

// termsOf returns the different words of a query without their plurals, since the beginning of a word finds it.
func termsOf(query string) []string {
	var terms []string
	for word := range strings.FieldsSeq(fold(query)) {
		const shortest = 4
		if len(word) >= shortest && !strings.HasSuffix(word, "ss") {
			word = strings.TrimSuffix(strings.TrimSuffix(word, "s"), "ie")
		}
		if !slices.Contains(terms, word) && len(terms) < maxTerms {
			terms = append(terms, word)
		}
	}
	return terms
}

// fold puts a text into lower case with a space for each byte that is no letter or digit, and one space before and
// behind. A byte of the text stands one byte further behind in the result, so places can be compared. Names like
// SV_RUN_LEASE fall into their words.
func fold(text string) string {
	folded := make([]byte, 0, len(text)+len("  "))
	folded = append(folded, ' ')
	for i := range len(text) {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c < '0' || '9' < c && c < 'a' || 'z' < c && c < 0x80:
			c = ' '
		}
		folded = append(folded, c)
	}
	return string(append(folded, ' '))
}

// excerpt returns the part of a text around the first hit, with the hits marked.
func excerpt(text string, terms []string) []passage {
	folded := fold(text)
	first := len(text)
	for _, term := range terms {
		if at := strings.Index(folded, " "+term); at >= 0 {
			first = min(first, at)
		}
	}
	if first == len(text) {
		first = 0
	}
	from, to := max(0, first-excerptBefore), min(len(text), first+excerptBytes)
	if from > 0 {
		from += strings.IndexByte(text[from:first]+" ", ' ')
	}
	if to < len(text) {
		to = max(first, from+strings.LastIndexByte(text[from:to], ' '))
	}
	return mark(text[from:to], terms, from > 0, to < len(text))
}

// mark cuts a text into passages at the words that begin with one of the terms.
func mark(text string, terms []string, cutBefore, cutBehind bool) []passage {
	var shown []passage
	if cutBefore {
		shown = append(shown, passage{Text: "… "})
	}
	folded, end := fold(text), 0
	for i := 0; i < len(text); {
		length := strings.IndexByte(folded[i+1:], ' ')
		word := folded[i+1 : i+1+length]
		if slices.ContainsFunc(terms, func(term string) bool { return strings.HasPrefix(word, term) }) {
			shown = append(shown, passage{Text: text[end:i]}, passage{Text: text[i : i+length], Hit: true})
			end = i + length
		}
		i += length + 1
	}
	shown = append(shown, passage{Text: text[end:]})
	if cutBehind {
		shown = append(shown, passage{Text: " …"})
	}
	return shown
}
