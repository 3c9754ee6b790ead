package engines

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted is how much of a document's or configuration's own text a message repeats, in characters.
const maxQuoted = 60

// lineIndex turns byte offsets of a text into lines, columns and excerpts.
type lineIndex struct {
	text       []byte
	starts     []int
	maxExcerpt int
	// marks hold the number of characters before each stride of the text. They are made when a line is long: a document
	// without line ends would else be counted from its beginning for each finding.
	marks []mark
}

// mark is a place between two characters.
type mark struct {
	offset, chars int
}

// markStride is the distance of the marks in bytes, and the length from which on a line is long.
const markStride = 64 << 10

func newLineIndex(text []byte, maxExcerpt int) *lineIndex {
	starts := []int{0}
	for offset := 0; ; {
		newline := bytes.IndexByte(text[offset:], '\n')
		if newline < 0 {
			return &lineIndex{text: text, starts: starts, maxExcerpt: maxExcerpt}
		}
		offset += newline + 1
		starts = append(starts, offset)
	}
}

// line returns the line of an offset, from 1.
func (x *lineIndex) line(offset int) int {
	line, _ := slices.BinarySearch(x.starts, offset+1)
	return line
}

// place fills in where in the text a finding is.
func (x *lineIndex) place(f Finding, offset int) Finding {
	offset = min(max(offset, 0), len(x.text))
	line, found := slices.BinarySearch(x.starts, offset)
	if !found {
		line--
	}
	start := x.starts[line]
	f.Line = line + 1
	f.Column = x.chars(start, offset) + 1
	f.Excerpt = excerpt(x.lineText(line), offset-start, x.maxExcerpt)
	return f
}

// placeLine is place for parsers that know line and column. A column of 0 is unknown.
func (x *lineIndex) placeLine(f Finding, line, column int) Finding {
	if line < 1 || line > len(x.starts) {
		return f
	}
	f.Line, f.Column = line, column
	text := x.lineText(line - 1)
	f.Excerpt = excerpt(text, x.skip(x.starts[line-1], len(text), column-1), x.maxExcerpt)
	return f
}

// chars is the number of characters between two offsets of one line.
func (x *lineIndex) chars(start, end int) int {
	if end-start < markStride {
		return utf8.RuneCount(x.text[start:end])
	}
	x.mark()
	return x.charsBefore(end) - x.charsBefore(start)
}

func (x *lineIndex) charsBefore(offset int) int {
	near := x.marks[offset/markStride]
	return near.chars + utf8.RuneCount(x.text[near.offset:offset])
}

// skip is the length in bytes of the first n characters behind start, of which there are length bytes at most.
func (x *lineIndex) skip(start, length, n int) int {
	offset, end := start, start+length
	if n >= markStride && length >= markStride {
		x.mark()
		n += x.charsBefore(start)
		behind := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].chars > n })
		near := x.marks[behind-1]
		offset, n = near.offset, n-near.chars
	}
	for ; n > 0 && offset < end; n-- {
		_, size := utf8.DecodeRune(x.text[offset:])
		offset += size
	}
	return min(offset, end) - start
}

func (x *lineIndex) mark() {
	if x.marks != nil {
		return
	}
	x.marks = append(x.marks, mark{})
	for at := markStride; at <= len(x.text); at += markStride {
		last := x.marks[len(x.marks)-1]
		offset := at
		for back := 1; back < utf8.UTFMax && offset < len(x.text) && !utf8.RuneStart(x.text[offset]); back++ {
			offset--
		}
		chars := last.chars + utf8.RuneCount(x.text[last.offset:offset])
		x.marks = append(x.marks, mark{offset, chars})
	}
}

func (x *lineIndex) lineText(line int) []byte {
	end := len(x.text)
	if line+1 < len(x.starts) {
		end = x.starts[line+1]
	}
	return x.text[x.starts[line]:end]
}

// excerpt returns the line without its end, cut to limit characters around the byte offset at.
func excerpt(line []byte, at, limit int) string {
	line = bytes.TrimRight(line, "\r\n")
	at = min(at, len(line))
	before := lastRunes(line[:at], limit/2)
	after := firstRunes(line[at:], limit-utf8.RuneCount(before))
	cut := append(slices.Clone(before), after...)
	return printable(string(cut))
}

func firstRunes(text []byte, n int) []byte {
	end := 0
	for range n {
		if end >= len(text) {
			break
		}
		_, size := utf8.DecodeRune(text[end:])
		end += size
	}
	return text[:end]
}

func lastRunes(text []byte, n int) []byte {
	start := len(text)
	for range n {
		if start == 0 {
			break
		}
		_, size := utf8.DecodeLastRune(text[:start])
		start -= size
	}
	return text[start:]
}

// printable makes a text fit to be stored and shown: databases refuse NUL and broken UTF-8.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// clip cuts a text to what a message may repeat of it.
func clip(text string) string {
	return clipTo(text, maxQuoted)
}

func clipTo(text string, limit int) string {
	head := text[:min(len(text), limit*utf8.UTFMax)]
	if cut := firstRunes([]byte(head), limit); len(cut) < len(text) {
		return printable(string(cut)) + "…"
	}
	return printable(text)
}

// quote is clip in double quotes.
func quote(text string) string {
	return `"` + clip(text) + `"`
}

// plural returns the count with the word for it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// nearest returns the candidate that a mistyped name most likely means, or "".
func nearest(name string, candidates []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	typed := []rune(strings.ToLower(name))
	best, bestDistance := "", 3
	for _, candidate := range candidates {
		if len(candidate) > longest {
			continue
		}
		distance := editDistance(typed, []rune(strings.ToLower(candidate)), bestDistance)
		if distance < bestDistance && distance*3 <= len(candidate) {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// editDistance is the number of characters to insert, remove, replace or swap with the next, or the limit where it is
// not below it. Documents can make it compare a million pairs, so it looks only at what can stay below the limit.
func editDistance(x, y []rune, limit int) int {
	if max(len(x)-len(y), len(y)-len(x)) >= limit {
		return limit
	}
	older, previous, current := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range previous {
		previous[j] = j
	}
	least := 0
	for i := range x {
		from, to := max(0, i-limit), min(len(y), i+limit+1)
		current[from] = min(i+1, limit)
		leastBefore := least
		least = current[from]
		for j := from; j < to; j++ {
			change := previous[j]
			if x[i] != y[j] {
				change++
			}
			current[j+1] = min(change, previous[j+1]+1, current[j]+1)
			if swapped(x, y, i, j) {
				current[j+1] = min(current[j+1], older[j-1]+1)
			}
			least = min(least, current[j+1])
		}
		if least >= limit && leastBefore >= limit {
			return limit
		}
		if to < len(y) {
			current[to+1] = limit
		}
		older, previous, current = previous, current, older
	}
	return min(previous[len(y)], limit)
}

// swapped says whether the characters that end at i and j are each other's, the other way round.
func swapped(x, y []rune, i, j int) bool {
	return i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j]
}
