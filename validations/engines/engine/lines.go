package engine

import (
	"bytes"
	"slices"
	"sort"
	"unicode/utf8"
)

// Lines turns byte offsets of a text into lines, columns and excerpts.
type Lines struct {
	text       []byte
	starts     []int
	maxExcerpt int
	// marks cache the number of characters before each stride of the text. They are made when a line is long: otherwise
	// a document without line ends would be counted from its beginning for each finding.
	marks []mark
}

// mark is a place between two characters.
type mark struct {
	offset, chars int
}

// markStride is the distance of the marks in bytes, and the length from which on a line is long.
const markStride = 64 << 10

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

// chars is the number of characters between two offsets of one line.
func (x *Lines) chars(start, end int) int {
	if end-start < markStride {
		return utf8.RuneCount(x.text[start:end])
	}
	x.mark()
	return x.charsBefore(end) - x.charsBefore(start)
}

func (x *Lines) charsBefore(offset int) int {
	near := x.marks[offset/markStride]
	return near.chars + utf8.RuneCount(x.text[near.offset:offset])
}

// skip is the length in bytes of the first n characters behind start, of which there are length bytes at most.
func (x *Lines) skip(start, length, n int) int {
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

func (x *Lines) mark() {
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
	before := lastRunes(line[:at], limit/2)
	after := firstRunes(line[at:], limit-utf8.RuneCount(before))
	cut := append(slices.Clone(before), after...)
	return printable(string(cut))
}
