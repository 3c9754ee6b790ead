package engines

import (
	"bytes"
	"slices"
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
}

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
	f.Column = utf8.RuneCount(x.text[start:offset]) + 1
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
	offset := 0
	for i := 1; i < column && offset < len(text); i++ {
		_, size := utf8.DecodeRune(text[offset:])
		offset += size
	}
	f.Excerpt = excerpt(text, offset, x.maxExcerpt)
	return f
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
	best, bestDistance := "", 3
	for _, candidate := range candidates {
		if len(candidate) > longest {
			continue
		}
		distance := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		if distance < bestDistance && distance*3 <= len(candidate) {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// editDistance is the number of characters to insert, remove, replace or swap with the next.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	older, previous, current := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range x {
		current[0] = i + 1
		for j := range y {
			change := previous[j]
			if x[i] != y[j] {
				change++
			}
			current[j+1] = min(change, previous[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				current[j+1] = min(current[j+1], older[j-1]+1)
			}
		}
		older, previous, current = previous, current, older
	}
	return previous[len(y)]
}
