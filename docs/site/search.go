package site

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
)

const (
	// A word in a heading or a title says more about a section than one in its text, and most in a short heading.
	headingWeight, titleWeight = 24, 4
	// Repetitions in a long text count up to this many times.
	maxRepetitions = 3

	// A word that only means the same counts less, and so does what is kept for old clients.
	meaningWeight, oldWeight = 0.6, 0.3

	// maxQuery is how much of a query is read. Nobody needs a token to send one, and all sections are compared with it.
	maxQuery       = 300
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
	// headed is how many words of the heading say something.
	headed int
	// status is the HTTP status that the page of an error is about, and mentions is how many sections name the error.
	status   string
	mentions int
}

func newIndex(articles []article, others []section) *index {
	x := &index{}
	parts := [][]section{others}
	for _, a := range articles {
		parts = append(parts, a.sections)
	}
	for _, sections := range parts {
		for _, s := range sections {
			entry := indexed{section: s, title: fold(s.Page), heading: fold(s.Heading), words: fold(s.text)}
			if s.Heading == "" {
				// The beginning of a page stands for the whole of it, and that of an error for its status.
				entry.heading, entry.status = entry.title, statusOf(s)
			}
			words := strings.Fields(entry.heading)
			entry.headed = len(slices.DeleteFunc(words, isFiller))
			x.sections = append(x.sections, entry)
		}
	}
	for i := range x.sections {
		if x.sections[i].status != "" {
			x.sections[i].mentions = x.mentions(path.Base(x.sections[i].Address))
		}
	}
	return x
}

// mentions counts the sections that name the code of an error.
func (x *index) mentions(code string) int {
	n := 0
	for _, s := range x.sections {
		if strings.Contains(s.words, fold(code)) {
			n++
		}
	}
	return n
}

// statusOf is the HTTP status of an error, as its page begins with it.
func statusOf(s section) string {
	if !strings.HasPrefix(s.Address, addressOf("errors")) {
		return ""
	}
	const digits = 3
	for word := range strings.FieldsSeq(s.text) {
		if len(word) == digits && strings.Trim(word, "0123456789") == "" {
			return word
		}
	}
	return ""
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
	query = query[:min(len(query), maxQuery)]
	terms, heading := termsOf(query), fold(strings.Join(strings.Fields(query), " "))
	found := make([]finding, len(x.sections))
	for _, term := range terms {
		x.score(found, term)
	}
	most := 0
	for i := range found {
		found[i].section = x.sections[i].section
		if x.sections[i].heading == heading {
			found[i].score += headingWeight
		}
		most = max(most, found[i].matched)
	}
	found = slices.DeleteFunc(found, func(f finding) bool { return f.matched == 0 || f.matched < most })
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(b.score, a.score) })
	found = mixed(found)
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

// mixed puts a guide behind each operation of the API as long as there are both, so that neither hides the other.
func mixed(found []finding) []finding {
	var guides, operations []finding
	for _, f := range found {
		if f.Kind == "" {
			guides = append(guides, f)
		} else {
			operations = append(operations, f)
		}
	}
	order := make([]finding, 0, len(found))
	for len(guides) > 0 && len(operations) > 0 {
		last := len(order) - 1
		if guides[0].score >= operations[0].score || last >= 0 && order[last].Kind != "" {
			order, guides = append(order, guides[0]), guides[1:]
		} else {
			order, operations = append(order, operations[0]), operations[1:]
		}
	}
	return slices.Concat(order, guides, operations)
}

// score adds to the finding of each section what it has for a term. A term that few sections have weighs more.
func (x *index) score(found []finding, term string) {
	scores, sections := make([]float64, len(found)), 0
	for i, s := range x.sections {
		scores[i] = s.score(term)
		for _, other := range meanings()[term] {
			scores[i] = max(scores[i], meaningWeight*s.score(other))
		}
		if strings.Contains(s.Address, "/legacy-") {
			scores[i] *= oldWeight
		}
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
	heading := headingWeight / float64(1+s.headed)
	if term == s.status {
		// The errors that are met most are named most.
		return headingWeight + float64(s.mentions)
	}
	return heading*hits(s.heading, 1) + titleWeight*hits(s.title, 1) + hits(s.words, maxRepetitions)
}

// meanings are words that readers use for what the pages call otherwise.
func meanings() map[string][]string {
	return map[string][]string{
		"write": {"create", "file"}, "raise": {"change", "set"}, "increase": {"change", "set"},
		"webhook": {"callback", "external"}, "dark": {"color", "theme"}, "delete": {"remove", "revoke", "purge"},
		"remove": {"delete", "revoke"}, "login": {"sign"}, "reset": {"set", "forgot"}, "regenerate": {"rotate"},
		"abort": {"cancel"}, "stop": {"cancel"}, "retrie": {"retry"}, "throttle": {"rate"}, "big": {"large"},
		"huge": {"large"}, "backup": {"back"}, "install": {"production"}, "deploy": {"production"},
		"apikey": {"token"}, "credential": {"token"}, "user": {"member"}, "team": {"member"}, "result": {"finding"},
	}
}

// isFiller reports whether a word says nothing about what is sought.
func isFiller(word string) bool {
	switch word {
	case "a", "an", "and", "are", "be", "can", "did", "do", "does", "for", "get", "got", "have", "how", "i", "in",
		"is", "it", "me", "my", "of", "on", "the", "there", "to", "use", "want", "what", "when", "where", "why",
		"with", "you", "your":
		return true
	default:
		return false
	}
}

// termsOf returns the different words of a query without their plurals, since the beginning of a word finds it. Fillers
// count only where there is nothing else.
func termsOf(query string) []string {
	words := strings.Fields(fold(query))
	if kept := slices.DeleteFunc(slices.Clone(words), isFiller); len(kept) > 0 {
		words = kept
	}
	var terms []string
	for _, word := range words {
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
