package docs

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxQuery is how much of a query is read: no token is needed to send one, and each is compared with all sections.
	maxQuery = 300
	maxTerms = 8

	maxFindings    = 20
	maxFromOnePage = 3

	// excerptBefore and excerptBytes bound the part of a section that a finding shows.
	excerptBefore, excerptBytes = 60, 240
)

// index searches the sections of all pages one after the other: they are few, and part of the program.
type index []indexed

// indexed is a section with the words of its text, of its heading and of the title of its page. A title belongs to the
// beginning of its page alone.
type indexed struct {
	section

	places [3]string
}

func newIndex(articles []article, others []section) index {
	var sections []section
	for _, a := range articles {
		sections = append(sections, a.sections...)
	}
	sections = append(sections, others...)
	x := make(index, len(sections))
	for i, s := range sections {
		x[i] = indexed{section: s, places: [3]string{fold(s.text), fold(s.Heading)}}
		if s.Heading == "" {
			x[i].places[2] = fold(s.Page)
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

	Excerpt        []passage
	matched, score int
}

// passage is a piece of text; a Hit is one of the words that were searched.
type passage struct {
	Text string
	Hit  bool
}

// find returns the sections that have all words of a query, or else most of them: those that have them in the title of
// a page before those that have them in a heading, and those before the ones that have them in the text.
func (x index) find(query string) findings {
	terms := termsOf(query[:min(len(query), maxQuery)])
	found := make([]finding, len(x))
	most := 1
	for i, s := range x {
		found[i].section = s.section
		for _, term := range terms {
			if rank := s.rank(term); rank > 0 {
				found[i].matched++
				found[i].score += rank
			}
		}
		most = max(most, found[i].matched)
	}
	fromPage := make(map[string]int)
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(b.score, a.score) })
	found = slices.DeleteFunc(found, func(f finding) bool {
		if f.matched == most {
			fromPage[f.Page]++
		}
		return f.matched < most || fromPage[f.Page] > maxFromOnePage
	})
	found = found[:min(len(found), maxFindings)]
	for i := range found {
		found[i].Excerpt = excerpt(found[i].text, terms)
	}
	return findings{Sections: found, Partly: most < len(terms)}
}

// rank is 3 for a word that begins so in the title of a page, 2 in a heading, 1 in the text and 0 for one that is
// nowhere.
func (s indexed) rank(term string) int {
	for i, place := range slices.Backward(s.places[:]) {
		if strings.Contains(place, " "+term) {
			return i + 1
		}
	}
	return 0
}

// termsOf returns the different words of a query.
func termsOf(query string) []string {
	terms := strings.Fields(fold(query))
	slices.Sort(terms)
	terms = slices.Compact(terms)
	return terms[:min(len(terms), maxTerms)]
}

// fold puts a text into lower case with one space before each word. Names like SV_RUN_LEASE fall into their words.
func fold(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return " " + strings.Join(words, " ")
}

// excerpt returns the part of a text around the first hit, with the hits marked.
func excerpt(text string, terms []string) []passage {
	hits := regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(` + strings.Join(terms, "|") + ")")
	first := 0
	if hit := hits.FindStringSubmatchIndex(text); hit != nil {
		first = hit[2]
	}
	var shown []passage
	from, to, behind := max(0, first-excerptBefore), min(len(text), first+excerptBytes), ""
	if from > 0 {
		from += strings.IndexByte(text[from:first]+" ", ' ')
		shown = append(shown, passage{Text: "… "})
	}
	if to < len(text) {
		to, behind = max(first, from+strings.LastIndexByte(text[from:to], ' ')), " …"
	}
	text = text[from:to]
	end := 0
	for _, hit := range hits.FindAllStringSubmatchIndex(text, -1) {
		shown = append(shown, passage{Text: text[end:hit[2]]}, passage{Text: text[hit[2]:hit[3]], Hit: true})
		end = hit[3]
	}
	return append(shown, passage{Text: text[end:] + behind})
}
