package engine

import (
	"cmp"
	"context"
	"fmt"
)

// Position is where a value stands: a byte offset, or line and column where the parser gives those.
type Position struct {
	Offset, Line, Column int
}

// LineUnknown is the line of a position that the parser does not report.
const LineUnknown = -1

// ReadError is what makes a document unreadable. It becomes a finding.
type ReadError struct {
	Code    string
	Message string
	At      Position
}

// ReadErrorAt returns a fault at a byte offset of the text.
func ReadErrorAt(code, message string, offset int) *ReadError {
	return &ReadError{Code: code, Message: message, At: Position{Offset: offset}}
}

// Error is the message, for the parsers that return it as an error.
func (f *ReadError) Error() string {
	return f.Message
}

// ReadText reads a document of at most so many bytes, which read turns into what it stands for and UTF-8. The finding,
// if any, says why the document cannot be read; its code begins with the format.
func ReadText[T any](
	doc Document, most int64, format string, limits Limits, read func(content []byte) (T, []byte, *ReadError),
) (T, *Finding, error) {
	var none T
	if doc.Size > most {
		message := fmt.Sprintf("the document has %d bytes, at most %d are checked", doc.Size, most)
		f := Failure(format+".too_large", message)
		return none, &f, nil
	}
	content, err := doc.ReadAll()
	if err != nil {
		return none, nil, err
	}
	value, text, fault := read(content)
	if fault == nil {
		return value, nil, nil
	}
	f := NewLines(text, limits.MaxExcerpt).PlaceAt(Failure(fault.Code, fault.Message), fault.At)
	return none, &f, nil
}

// Judge makes the report of a document. Read returns what the document stands for, or a finding that says why it cannot
// be read and is all of the report; check judges what was read.
func Judge[T any](
	ctx context.Context, limits Limits, read func() (T, *Finding, error), check func(value T, c *Collector) error,
) (Report, error) {
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("check a document: %w", err)
	}
	c := NewCollector(limits)
	value, unreadable, err := read()
	switch {
	case err != nil:
	case unreadable != nil:
		c.Add("", *unreadable)
	default:
		err = check(value, c)
	}
	if err != nil {
		return Report{}, err
	}
	return c.Finish(), nil
}

// PlaceAt fills in line, column and excerpt of a finding.
func (x *Lines) PlaceAt(f Finding, at Position) Finding {
	if at.Line != 0 {
		return x.PlaceLine(f, at.Line, at.Column)
	}
	return x.Place(f, at.Offset)
}

// ComparePositions orders positions as the document has them.
func ComparePositions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
