package tablefile

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// maxNesting is how deep the elements of a part may nest. Spreadsheets need less than ten levels, and some work is done
// for each level.
const maxNesting = 100

// xmlParts reads the XML of one part of a workbook as a stream. One token takes a bounded amount of memory.
type xmlParts struct {
	decoder *xml.Decoder
	source  *boundedReader
	// path are the names of the elements that are open.
	path []string
}

// boundedReader gives an error where more is read than was allowed since the last time, and once the run has ended: a
// small archive may hold a large part.
type boundedReader struct {
	source      io.Reader
	left, limit int
	ended       func() error
}

var errTokenTooLong = errors.New("a text or tag is too long")

// Read reads no more than is left.
func (b *boundedReader) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	if b.left <= 0 {
		return 0, errTokenTooLong
	}
	n, err := b.source.Read(p)
	b.left -= n
	return n, err
}

// Token returns the next token, io.EOF after the last one, and *Error if it is not XML.
func (p *xmlParts) Token() (xml.Token, error) {
	p.source.left = p.source.limit
	token, err := p.decoder.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("read a workbook: %w", err)
	case err != nil:
		return nil, malformedWorkbook(err)
	}
	switch t := token.(type) {
	case xml.Directive:
		return nil, malformedWorkbook(errors.New("its XML has a document type"))
	case xml.StartElement:
		p.path = append(p.path, t.Name.Local)
		if len(p.path) > maxNesting {
			return nil, malformedWorkbook(fmt.Errorf("its XML nests deeper than %d levels", maxNesting))
		}
	case xml.EndElement:
		p.path = p.path[:len(p.path)-1]
	}
	return token, nil
}

// element reads to the start of the next element of a name, and returns io.EOF at the end of its parent or of the part.
func (p *xmlParts) element(name, parent string) (xml.StartElement, error) {
	for {
		token, err := p.Token()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == name {
				return t, nil
			}
		case xml.EndElement:
			if t.Name.Local == parent {
				return xml.StartElement{}, io.EOF
			}
		}
	}
}

// toEnd reads what is left, so that damage after the last row is found as well.
func (p *xmlParts) toEnd() error {
	for {
		if _, err := p.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("after the last row: %w", err)
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}
