package idempotency

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxPointerLength bounds a JSON Pointer in an error, in bytes, because it repeats names that the client chose.
const maxPointerLength = 256

// ErrNotCanonical means that a text has no canonical form as JSON. The error that wraps it is a *JSONError.
var ErrNotCanonical = errors.New("no canonical JSON form")

// JSONError is why, and where, a text has no canonical form.
type JSONError struct {
	// Reason is worded for the client and quotes no more of the text than a character or a name.
	Reason string
	// Pointer is the place as a JSON Pointer (RFC 6901), or an object or array around it where the names are
	// long; "" is the top or unknown.
	Pointer string
	// Offset is the place in bytes.
	Offset int64
}

// Error returns the reason and the place.
func (e *JSONError) Error() string {
	return fmt.Sprintf("%v: %s at %q, offset %d", ErrNotCanonical, e.Reason, e.Pointer, e.Offset)
}

// Unwrap returns ErrNotCanonical.
func (e *JSONError) Unwrap() error {
	return ErrNotCanonical
}

// DigestJSON returns the digest of a JSON text by its structure. The order of members, white space and the way a string
// is escaped do not matter. Number literals count as they are written: sending them through a float would let two
// different requests share a digest.
//
// A text that is not exactly one JSON value, has duplicate names, bad UTF-8 or lone surrogates, or is nested deeper
// than maxDepth is a *JSONError. Parsers disagree about such texts, so equal digests would not mean equal effects.
func DigestJSON(content []byte, maxDepth int) (Digest, error) {
	if err := checkDepth(content, maxDepth); err != nil {
		return Digest{}, err
	}
	canonical, err := jsontext.AppendFormat(nil, content, jsontext.ReorderRawObjects(true))
	if err != nil {
		return Digest{}, ExplainJSON(err)
	}
	return sha256.Sum256(canonical), nil
}

// DigestBytes returns the digest of a text by its bytes: their SHA-256.
func DigestBytes(content []byte) Digest {
	return sha256.Sum256(content)
}

// ExplainJSON words an error of the JSON parser for the client. A text that caused one has no canonical form.
func ExplainJSON(err error) *JSONError {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return &JSONError{Reason: reason(err)}
	}
	pointer := syntactic.JSONPointer
	for len(pointer) > maxPointerLength {
		pointer = pointer.Parent()
	}
	return &JSONError{Reason: reason(syntactic.Err), Pointer: string(pointer), Offset: syntactic.ByteOffset}
}

// checkDepth counts brackets outside of strings. It runs before the parser, because the parser's own limit is fixed and
// higher. It checks nothing but the nesting, and leaves text that is not JSON to the parser.
func checkDepth(content []byte, maxDepth int) error {
	depth := 0
	for i := 0; i < len(content); i++ {
		switch content[i] {
		case '"':
			for i++; i < len(content) && content[i] != '"'; i++ {
				if content[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
			if depth > maxDepth {
				return &JSONError{Reason: fmt.Sprintf("nested more than %d deep", maxDepth), Offset: int64(i)}
			}
		case ']', '}':
			depth--
		}
	}
	return nil
}

// reason words an error without the name of the parser, which would be part of the API otherwise.
func reason(err error) string {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "duplicate member name"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "unexpected end of the text"
	default:
		return strings.TrimPrefix(err.Error(), "jsontext: ")
	}
}
