package site

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	// Words of a title say more about a section than words of its text.
	titleWeight   = 6
	headingWeight = 10
	// A word that only begins like the one that was asked for counts less.
	prefixWeight = 0.7
	// The usual constants of BM25: how soon repetitions stop to matter, and how much long texts are held back.
	saturation, lengthInfluence = 1.2, 0.3

	maxTerms       = 8
	maxFindings    = 20
	maxFromOnePage = 3
)

// index is an inverted index of the sections of all pages. The documentation is small and part of the program, so a
// map is all it takes: it is built in a few milliseconds, and a query looks at a sorted list of terms.
type index struct {
	sections []section
	lengths  []float64
	average  float64
	terms    []string
	postings map[string]map[int]float64
}

func newIndex(articles []article) *index {
	x := &index{postings: make(map[string]map[int]float64)}
	for _, a := range articles {
		for _, s := range a.sections {
			x.add(s)
		}
	}
	for _, length := range x.lengths {
		x.average += length / float64(len(x.lengths))
	}
	x.terms = slices.Sorted(maps.Keys(x.postings))
	return x
}

func (x *index) add(s section) {
	id := len(x.sections)
	x.sections = append(x.sections, s)
	x.lengths = append(x.lengths, float64(len(words(s.text))))
	page, heading := float64(titleWeight), s.Heading
	if heading == "" {
		// The beginning of a page stands for the whole of it.
		page = headingWeight
	}
	for _, field := range []struct {
		text   string
		weight float64
	}{{s.Page, page}, {heading, headingWeight}, {s.text, 1}} {
		for _, w := range words(field.text) {
			for _, term := range append(parts(w.term), w.term) {
				if x.postings[term] == nil {
					x.postings[term] = make(map[int]float64)
				}
				x.postings[term][id] += field.weight
			}
		}
	}
}

// findings is what a search found.
type findings struct {
	Sections []finding
	// Partly tells that no section has all of the words, so these have as many as any.
	Partly bool
}

// finding is a section with the part of its text that has the words.
type finding struct {
	section

	Excerpt []passage
}

// find looks for the sections that have all words of a query, or else most of them, best first.
func (x *index) find(query string) findings {
	terms := queryTerms(query)
	scores, matched := make(map[int]float64), make(map[int]int)
	for _, term := range terms {
		for id, score := range x.score(term) {
			scores[id] += score
			matched[id]++
		}
	}
	if len(scores) == 0 {
		return findings{}
	}
	most := slices.Max(slices.Collect(maps.Values(matched)))
	maps.DeleteFunc(scores, func(id int, _ float64) bool { return matched[id] < most })
	best := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	return findings{Sections: x.excerpts(best, terms), Partly: most < len(terms)}
}

// score is how well each section fits one word: the best of the terms that begin with it.
func (x *index) score(word string) map[int]float64 {
	scores := make(map[int]float64)
	first, _ := slices.BinarySearch(x.terms, word)
	for _, term := range x.terms[first:] {
		if !strings.HasPrefix(term, word) {
			break
		}
		weight := 1.0
		if term != word {
			weight = prefixWeight
		}
		postings := x.postings[term]
		rarity := math.Log(1 + float64(len(x.sections))/float64(len(postings)))
		for id, frequency := range postings {
			held := saturation * (1 - lengthInfluence + lengthInfluence*x.lengths[id]/x.average)
			scores[id] = max(scores[id], weight*rarity*frequency*(saturation+1)/(frequency+held))
		}
	}
	return scores
}

// excerpts shows the best sections, and few of each page so that one page does not hide the others.
func (x *index) excerpts(best []int, terms []string) []finding {
	var found []finding
	fromPage := make(map[string]int)
	for _, id := range best {
		s := x.sections[id]
		fromPage[s.Page]++
		if fromPage[s.Page] > maxFromOnePage {
			continue
		}
		found = append(found, finding{section: s, Excerpt: excerpt(s.text, terms)})
		if len(found) == maxFindings {
			break
		}
	}
	return found
}

// queryTerms are the different words of a query, as many as are looked for.
func queryTerms(query string) []string {
	var terms []string
	for _, w := range words(query) {
		if !slices.Contains(terms, w.term) && len(terms) < maxTerms {
			terms = append(terms, w.term)
		}
	}
	return terms
}
