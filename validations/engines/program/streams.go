package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
)

// gate gives a child nothing to read until it is bounded, and remembers why the source could not be read.
type gate struct {
	source io.Reader
	opened chan struct{}
	err    error
}

func (g *gate) open() { close(g.opened) }

// Read reads from the source.
func (g *gate) Read(to []byte) (int, error) {
	<-g.opened
	if g.source == nil {
		return 0, io.EOF
	}
	n, err := g.source.Read(to)
	if err != nil && !errors.Is(err, io.EOF) {
		g.err = err
	}
	return n, err
}

// output ends the child where what it writes is refused, so that it does not write on and on.
type output struct {
	to   io.Writer
	stop context.CancelFunc
	err  error
}

// Write passes on what the child writes.
func (o *output) Write(piece []byte) (int, error) {
	n, err := o.to.Write(piece)
	if err != nil {
		o.err = err
		o.stop()
	}
	return n, err
}

// MaxKept is how much of the beginning and of the end of a long text is kept.
const MaxKept = 4096

// CutMark stands for what is left out.
const CutMark = "…"

// Said is what a child says, of which the middle is left out where it is long.
type Said struct {
	text   []byte
	isLong bool
}

// Write adds to it.
func (s *Said) Write(piece []byte) (int, error) {
	s.text = append(s.text, piece...)
	if len(s.text) > 3*MaxKept {
		s.text = slices.Delete(s.text, MaxKept, len(s.text)-MaxKept)
		s.isLong = true
	}
	return len(piece), nil
}

// String is the text.
func (s *Said) String() string {
	if s.isLong {
		return string(s.text[:MaxKept]) + CutMark + string(s.text[MaxKept:])
	}
	return string(s.text)
}

// last is the last line that is not empty.
func (s *Said) last() string {
	text := strings.TrimSpace(s.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// OutOfMemory reports whether a child that failed says that it had no more memory. Ask it only where no child repeats
// what a document says.
func (s *Said) OutOfMemory() bool {
	signs := []string{"out of memory", "cannot allocate memory", "MemoryError", "bad_alloc"}
	return slices.ContainsFunc(signs, func(sign string) bool { return bytes.Contains(s.text, []byte(sign)) })
}

// Lines calls a function for each line that a child writes. Close it for a last line without an end.
type Lines struct {
	call func(string)
	line Said
}

// NewLines returns a writer that calls a function for each line. Of a long one the middle is left out.
func NewLines(call func(string)) *Lines { return &Lines{call: call} }

// Write takes a piece of the output.
func (l *Lines) Write(piece []byte) (int, error) {
	for rest := piece; len(rest) > 0; {
		line, behind, ended := bytes.Cut(rest, []byte("\n"))
		_, _ = l.line.Write(line) // It keeps what it can.
		if ended {
			l.flush()
		}
		rest = behind
	}
	return len(piece), nil
}

// Close ends the last line.
func (l *Lines) Close() {
	if len(l.line.text) > 0 {
		l.flush()
	}
}

func (l *Lines) flush() {
	l.call(strings.TrimSuffix(l.line.String(), "\r"))
	l.line = Said{text: l.line.text[:0]}
}
