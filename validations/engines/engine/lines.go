package engine

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Lines turns byte offsets of a text into lines, columns and excerpts.
type Lines struct {
	text       []byte
	starts     []int
	maxExcerpt int
	// last is the place that was counted last. Findings mostly come in the order of the document, and one without line
	// ends would be counted from its beginning for each of them.
	last counted
}

// counted is a place between two characters: the beginning of its line, its offset, and the characters between the two.
type counted struct {
	start, offset, chars int
}

// NewLines indexes a text. Excerpts have at most maxExcerpt characters.
func NewLines(text []byte, maxExcerpt int) *Lines {
	starts := []int{0}
	for offset := 0; ; {
		newline := bytes.IndexByte(text[offset:], '\n')
		if newline < 0 {
			return &Lines{text: text, starts: starts, maxExcerpt: maxExcerpt}
		}
		offset += newline + 1
		starts = append(starts, offset)
	}
}

// Line returns the line of an offset, from 1.
func (x *Lines) Line(offset int) int {
	line, _ := slices.BinarySearch(x.starts, offset+1)
	return line
}

// Place fills in where in the text a finding is.
func (x *Lines) Place(f Finding, offset int) Finding {
	offset = min(max(offset, 0), len(x.text))
	line, found := slices.BinarySearch(x.starts, offset)
	if !found {
		line--
	}
	start := x.starts[line]
	f.Line = line + 1
	f.Column = x.chars(start, offset) + 1
	f.Excerpt = Excerpt(x.lineText(line), offset-start, x.maxExcerpt)
	return f
}

// PlaceLine is place for parsers that know line and column. A column of 0 is unknown.
func (x *Lines) PlaceLine(f Finding, line, column int) Finding {
	if line < 1 || line > len(x.starts) {
		return f
	}
	f.Line, f.Column = line, column
	text := x.lineText(line - 1)
	f.Excerpt = Excerpt(text, x.skip(x.starts[line-1], len(text), column-1), x.maxExcerpt)
	return f
}

// near returns the last place, or the beginning of a line where the last place is not in this line or too far on.
func (x *Lines) near(start int, isBehind func(last counted) bool) counted {
	if x.last.start != start || isBehind(x.last) {
		return counted{start: start, offset: start}
	}
	return x.last
}

// chars is the number of characters between two offsets of one line.
func (x *Lines) chars(start, end int) int {
	at := x.near(start, func(last counted) bool { return last.offset > end })
	at.chars += utf8.RuneCount(x.text[at.offset:end])
	at.offset = end
	if end < len(x.text) && utf8.RuneStart(x.text[end]) {
		x.last = at
	}
	return at.chars
}

// skip is the length in bytes of the first n characters behind start, of which there are length bytes at most.
func (x *Lines) skip(start, length, n int) int {
	at := x.near(start, func(last counted) bool { return last.chars > n })
	for ; at.chars < n && at.offset < start+length; at.chars++ {
		_, size := utf8.DecodeRune(x.text[at.offset:])
		at.offset += size
	}
	x.last = at
	return min(at.offset-start, length)
}

func (x *Lines) lineText(line int) []byte {
	end := len(x.text)
	if line+1 < len(x.starts) {
		end = x.starts[line+1]
	}
	return x.text[x.starts[line]:end]
}

// Excerpt returns the line without its end, cut to limit characters around the byte offset at.
func Excerpt(line []byte, at, limit int) string {
	line = bytes.TrimRight(line, "\r\n")
	at = min(at, len(line))
	longest := utf8.UTFMax * limit
	before := []rune(string(line[max(0, at-longest):at]))
	before = before[max(0, len(before)-limit/2):]
	after := []rune(string(line[at:min(len(line), at+longest)]))
	after = after[:min(len(after), limit-len(before))]
	return printable(string(before) + string(after))
}
