package viewer

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode"

	"github.com/simplevalidations/simplevalidations/core/cli"
)

// Mark is a place of a finding.
type Mark struct {
	Line int
	// Column counts characters from 1; 0 stands for the whole line. Length is how many characters are marked.
	Column, Length int
	// Path is the name of the column of a table, where the finding is about one.
	Path string
}

// Window says which part of a document is wanted.
type Window struct {
	// From is the first line, from 1, and Count how many lines or rows follow at most.
	From, Count int
	// Head is how many characters of a line, or of a cell, are shown. Of a longer line the places of the marks are
	// shown as well.
	Head  int
	Marks []Mark
}

// buffer is how much of a document is in memory at a time.
const buffer = 64 << 10

// lineCounter counts the lines of what is read through it.
type lineCounter struct {
	source io.Reader
	ends   int
	last   byte
	some   bool
}

// Read reads from the source.
func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.source.Read(p)
	if n > 0 {
		c.ends += bytes.Count(p[:n], []byte{'\n'})
		c.last, c.some = p[n-1], true
	}
	return n, err
}

// total reads what is left and returns the number of lines. The end of the last line need not be written.
func (c *lineCounter) total() (int, error) {
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, c, make([]byte, buffer)); err != nil {
		return 0, fmt.Errorf("count the lines of a document: %w", err)
	}
	if !c.some || c.last == '\n' {
		return c.ends, nil
	}
	return c.ends + 1, nil
}

// headBytes is how many bytes of a document isBinary looks at.
const headBytes = 4 << 10

// isBinary reports whether a document that begins with these bytes is not a text.
func isBinary(head []byte) bool {
	for _, magic := range []string{
		"PK\x03\x04", "\xd0\xcf\x11\xe0", "\x1f\x8b", "PAR1", "%PDF-", "\x89PNG", "\xff\xd8\xff",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return false // UTF-16
	}
	// A few control characters are a fault of a text, which people want to see.
	const few, share = 8, 20
	controls := 0
	for _, b := range head {
		if b < ' ' && !slices.Contains([]byte("\t\n\f\r\x1b"), b) {
			controls++
		}
	}
	return controls > few && controls*share > len(head)
}

// controlPictures is the code point of the picture of NUL. Those of the other control characters follow.
const controlPictures = '\u2400'

// visible replaces characters that are invisible or would mislead. It keeps the number of characters, so that columns
// stay right.
func visible(r rune) rune {
	switch {
	case r == '\t':
		return r
	case r < ' ':
		return controlPictures + r
	case r == '\x7f':
		return '\u2421'
	case r == '\u2028', r == '\u2029', unicode.IsControl(r), cli.Misleads(r):
		return unicode.ReplacementChar
	}
	return r
}
