// Package step reads STEP physical files (ISO 10303-21), the form of IFC models.
//
// A file is read once, as a stream of bounded memory: its syntax is checked everywhere, and the instances that a caller
// wants are kept as compact texts whose values are read when they are asked for. The package knows no schema.
package step

import (
	"context"
	"io"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Place is a position in a file. Lines and columns count from 1.
type Place struct {
	Offset       int64
	Line, Column int
}

// Fault is the reason why a file cannot be read.
type Fault struct {
	Code    string
	Message string
	At      Place
}

// Finding returns the fault as a finding of severity ERROR.
func (f *Fault) Finding(source io.ReaderAt, limits engine.Limits) engine.Finding {
	return Locate(engine.Failure(f.Code, f.Message), source, f.At, limits)
}

// Locate fills in the position of a finding and its line as the excerpt.
func Locate(f engine.Finding, source io.ReaderAt, at Place, limits engine.Limits) engine.Finding {
	f.Line, f.Column = at.Line, at.Column
	// A character has up to four bytes.
	const widest = 4
	reach := int64(widest * limits.MaxExcerpt)
	begin := max(0, at.Offset-reach)
	window := make([]byte, at.Offset+reach-begin)
	// The window may extend beyond the end of the file. If it cannot be read, the excerpt stays empty.
	n, _ := source.ReadAt(window, begin)
	window = window[:n]
	split := min(int(at.Offset-begin), n)
	lineBegin, lineEnd := 0, n
	for i := split; i > 0; i-- {
		if window[i-1] == '\n' {
			lineBegin = i
			break
		}
	}
	for i := split; i < n; i++ {
		if window[i] == '\n' {
			lineEnd = i
			break
		}
	}
	f.Excerpt = engine.Excerpt(window[lineBegin:lineEnd], split-lineBegin, limits.MaxExcerpt)
	return f
}

// Header holds the facts of a file's header.
type Header struct {
	// Schemas are the names of the schemas of the instances.
	Schemas []string
	// At is the position of these names.
	At Place
}

// Chooser says whether the instances of a keyword are kept, and by which number of their class. It is called once for
// each instance, with a keyword in upper case that is valid only meanwhile.
type Chooser func(keyword []byte) (class uint16, keep bool)

// Begin is called after the header and returns which instances are kept. Its fault ends the reading.
type Begin func(h Header) (Chooser, *Fault)

// Read reads a file and keeps the instances that are chosen. The fault says what is wrong with the file, the error why
// it could not be read at all.
func Read(
	ctx context.Context, source io.ReaderAt, size int64, limits engine.Limits, begin Begin,
) (*File, *Fault, error) {
	r := &reader{
		scanner: newScanner(ctx, source, size), limits: limits, begin: begin,
		file: newFile(limits.MaxHeldBytes),
	}
	fault := r.read()
	if r.scanner.err != nil {
		return nil, nil, r.scanner.err
	}
	if fault != nil {
		return nil, fault, nil
	}
	double := r.file.index()
	if double == nil {
		return r.file, nil, nil
	}
	again := &reader{
		scanner: newScanner(ctx, source, size), limits: limits, sought: double,
		begin: func(Header) (Chooser, *Fault) {
			return func([]byte) (uint16, bool) { return 0, false }, nil
		},
		file: newFile(limits.MaxHeldBytes),
	}
	fault = again.read()
	return nil, fault, again.scanner.err
}
