package body

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// maxUnproven bounds what is allocated on the strength of a Content-Length alone.
const maxUnproven = 1 << 20

var errPartHeaderTooLarge = errors.New("part header too large")

// bodySource reads a request's body within its limit. It keeps the error that the connection or the limit
// gave, which a parser above may have hidden behind its own.
type bodySource struct {
	body     io.Reader
	maxBytes int64
	// length is the size of the body by the client's word, 0 where it gave none.
	length int64
	err    error

	// allowance is how much may still be read where limited is set.
	allowance int64
	limited   bool
}

func newBodySource(r *http.Request, maxBytes int64) *bodySource {
	return &bodySource{
		// Without a ResponseWriter the reader cannot ask for the connection to be closed. The server closes it
		// by itself when much of a body was left unread.
		body:     http.MaxBytesReader(nil, r.Body, maxBytes),
		maxBytes: maxBytes,
		length:   max(r.ContentLength, 0),
	}
}

// Read reads on.
func (s *bodySource) Read(p []byte) (int, error) {
	if s.limited {
		if s.allowance <= 0 {
			s.err = errPartHeaderTooLarge
			return 0, s.err
		}
		p = p[:min(int64(len(p)), s.allowance)]
	}
	n, err := s.body.Read(p)
	s.allowance -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// readUpTo reads to the end, or the first n bytes where there are more.
func (s *bodySource) readUpTo(n int64) ([]byte, error) {
	expected := min(s.length, n)
	buffer := bytes.NewBuffer(make([]byte, 0, min(expected, maxUnproven)+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(s, min(n, maxUnproven))); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	// A client that has sent this much may have the rest of its Content-Length allocated.
	buffer.Grow(int(max(expected-int64(buffer.Len()), 0)) + bytes.MinRead)
	if _, err := buffer.ReadFrom(io.LimitReader(s, n-int64(buffer.Len()))); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return buffer.Bytes(), nil
}

// limit bounds what may be read until unlimit.
func (s *bodySource) limit(n int64) {
	s.allowance, s.limited = n, true
}

func (s *bodySource) unlimit() {
	s.limited = false
}

// fault turns an error met while reading into the request's: that of the source where it had one, else a
// fault in what was sent, with the detail. What kept the document from being taken in is returned as it is.
func (s *bodySource) fault(err error, detail string) error {
	if unkept, ok := errors.AsType[*core.Error](err); ok {
		return unkept
	}
	if s.err == nil {
		return core.InvalidPayload(detail).Because(err)
	}
	if _, ok := errors.AsType[*http.MaxBytesError](s.err); ok {
		return bodyTooLarge(s.maxBytes)
	}
	switch {
	case errors.Is(s.err, errPartHeaderTooLarge):
		return core.InvalidPayload("The header of a part is too large.")
	case errors.Is(s.err, os.ErrDeadlineExceeded):
		return core.NewError(api.CodeRequestTimeout, "The request body did not arrive in time. Nothing was started.").
			Because(s.err)
	case isBrokenOff(s.err):
		return core.InvalidPayload("The connection ended before the body was complete.").Because(s.err)
	default:
		return core.InvalidPayload("The request body has an invalid transfer coding.").Because(s.err)
	}
}

// isBrokenOff reports whether the client has disconnected or the connection was lost.
func isBrokenOff(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled)
}

func bodyTooLarge(maxBytes int64) error {
	return core.NewError(api.CodePayloadTooLarge,
		fmt.Sprintf("The request body is larger than %d bytes. Nothing was stored.", maxBytes))
}
