package engine

import "cmp"

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
