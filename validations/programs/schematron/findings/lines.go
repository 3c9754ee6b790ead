package findings

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// Lines turns byte offsets of a text into lines, columns and excerpts.
type Lines struct {
	text   []byte
	starts []int
	// before has the number of characters before each stride of a line that is longer than one. It is made when it is
	// needed: otherwise a document without line ends would be counted from its beginning for each finding.
	before []int
}

// stride is the distance of the marks in bytes, and the length from which on a line is long.
const stride = 64 << 10

// NewLines indexes a text.
func NewLines(text []byte) *Lines {
	starts := []int{0}
	for offset := 0; ; {
		newline := bytes.IndexByte(text[offset:], '\n')
		if newline < 0 {
			return &Lines{text: text, starts: starts}
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

// Place fills in where in the text a finding is, with an excerpt of so many characters.
func (x *Lines) Place(f port.Finding, offset, excerpt int) port.Finding {
	offset = min(max(offset, 0), len(x.text))
	f.Line = x.Line(offset)
	start, end := x.starts[f.Line-1], len(x.text)
	if f.Line < len(x.starts) {
		end = x.starts[f.Line]
	}
	f.Column = x.chars(start, offset) + 1
	line := bytes.TrimRight(x.text[start:end], "\r\n")
	at := min(offset-start, len(line))
	begin := at
	for n := 0; begin > 0 && n < excerpt/2; n++ {
		_, size := utf8.DecodeLastRune(line[:begin])
		begin -= size
	}
	f.Excerpt = printable(firstRunes(string(line[begin:min(len(line), begin+utf8.UTFMax*excerpt)]), excerpt))
	return f
}

// chars is the number of characters between two offsets of one line.
func (x *Lines) chars(start, end int) int {
	if end-start < stride {
		return utf8.RuneCount(x.text[start:end])
	}
	if x.before == nil {
		x.before = []int{0}
		for at := stride; at <= len(x.text); at += stride {
			x.before = append(x.before, x.before[len(x.before)-1]+begun(x.text[at-stride:at]))
		}
	}
	return x.charsBefore(end) - x.charsBefore(start)
}

func (x *Lines) charsBefore(offset int) int {
	return x.before[offset/stride] + begun(x.text[offset/stride*stride:offset])
}

// begun is how many characters begin in a text in UTF-8, whose first and last one may be cut.
func begun(text []byte) int {
	count := 0
	for _, b := range text {
		if utf8.RuneStart(b) {
			count++
		}
	}
	return count
}
