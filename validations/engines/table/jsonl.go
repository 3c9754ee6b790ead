package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// jsonLines reads a table of JSON Lines (jsonlines.org): an object on each line, whose members are the values by the
// names of their columns. A member that is missing is a missing value, as null is.
type jsonLines struct {
	source  *bufio.Reader
	columns map[string]int
	limits  engine.Limits

	line   int
	raw    []byte
	cells  []field
	others []field
}

func newJSONLines(content io.Reader, columns []*column, limits engine.Limits) *jsonLines {
	const window = 64 << 10
	r := &jsonLines{
		source:  bufio.NewReaderSize(content, window),
		columns: map[string]int{},
		limits:  limits,
		cells:   make([]field, len(columns)),
	}
	for i, c := range columns {
		r.columns[c.name] = i
	}
	return r
}

func (r *jsonLines) blank() bool {
	return len(bytes.TrimSpace(r.raw)) == 0
}

func (r *jsonLines) fields() []field {
	return r.cells
}

func (r *jsonLines) unknown() []field {
	return r.others
}

func (r *jsonLines) at() int {
	return r.line
}

func (r *jsonLines) place(f engine.Finding, start int) engine.Finding {
	start = min(start, len(r.raw))
	f.Line = r.line
	f.Column = utf8.RuneCount(r.raw[:start]) + 1
	f.Excerpt = engine.Excerpt(r.raw, start, r.limits.MaxExcerpt)
	return f
}

func (r *jsonLines) next() error {
	r.line++
	clear(r.cells)
	r.others = r.others[:0]
	if err := r.readLine(); err != nil {
		return err
	}
	for i := range r.cells {
		r.cells[i].native = nativeNull
	}
	if r.blank() {
		return nil
	}
	if at := engine.BadTextAt(r.raw); at >= 0 {
		return &rowError{code: "csv.encoding", message: "the row is not text in UTF-8", offset: at}
	}
	return r.readObject()
}

// readLine reads one line, without its end.
func (r *jsonLines) readLine() error {
	r.raw = r.raw[:0]
	for {
		part, err := r.source.ReadSlice('\n')
		r.raw = append(r.raw, part...)
		if len(r.raw) > r.limits.MaxRecordBytes {
			message := fmt.Sprintf("row is longer than %d bytes", r.limits.MaxRecordBytes)
			return &rowError{code: "csv.limit.record", message: message, final: true}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if len(r.raw) == 0 {
				return io.EOF
			}
		case err != nil:
			return fmt.Errorf("read table: %w", err)
		}
		r.raw = bytes.TrimRight(r.raw, "\r\n")
		if r.line == 1 {
			r.raw = engine.TrimBOM(r.raw)
		}
		return nil
	}
}

func (r *jsonLines) readObject() error {
	decoder := jsontext.NewDecoder(bytes.NewReader(r.raw))
	token, err := decoder.ReadToken()
	if err == nil && token.Kind() != jsontext.KindBeginObject {
		return &rowError{code: "csv.malformed", message: "the line is not a JSON object"}
	}
	for err == nil && decoder.PeekKind() != jsontext.KindEndObject {
		err = r.readMember(decoder)
	}
	if err == nil {
		_, err = decoder.ReadToken()
	}
	if err == nil {
		if _, err = decoder.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		err = cmpError(err, "text follows the object")
	}
	at := int(decoder.InputOffset())
	if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, err = int(fault.ByteOffset), fault.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	message := "the line is not a JSON object: " + engine.ClipTo(err.Error(), engine.MaxMessage)
	return &rowError{code: "csv.malformed", message: message, offset: at}
}

// cmpError returns the error, or a new one with the words if it is nil.
func cmpError(err error, words string) error {
	if err != nil {
		return err
	}
	return errors.New(words)
}

func (r *jsonLines) readMember(decoder *jsontext.Decoder) error {
	name, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	at, known := r.columns[name.String()]
	if !known {
		start := int(decoder.InputOffset()) - len(name.String()) - len(`""`)
		r.others = append(r.others, field{text: []byte(name.String()), start: max(start, 0)})
		return decoder.SkipValue()
	}
	value, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	f := field{text: value, start: int(decoder.InputOffset()) - len(value)}
	switch value.Kind() {
	case jsontext.KindNull:
		f.native = nativeNull
	case jsontext.KindTrue, jsontext.KindFalse:
		f.native = nativeTruth
	case jsontext.KindNumber:
		f.native = nativeNumber
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		f.native = nativeJSON
	default:
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return err
		}
		f.text, f.native = text, nativeText
	}
	if f.native != nativeText {
		// The decoder uses the memory of the value again.
		f.text = bytes.Clone(f.text)
	}
	r.cells[at] = f
	return nil
}
