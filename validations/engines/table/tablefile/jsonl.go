package tablefile

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// JSONLines is a table of JSON Lines (jsonlines.org): an object on each line, whose members are the values by the names
// of their columns. Its values are those of the schema's columns. A member that is missing is a missing value, as null
// is.
type JSONLines struct {
	source  lineReader
	columns map[string]int

	textRecord
	others []Value
}

func newJSONLines(content io.Reader, columns []string, limits engine.Limits) *JSONLines {
	r := &JSONLines{
		source:  lineReader{bufio.NewReaderSize(content, window), limits.MaxRecordBytes},
		columns: map[string]int{},
	}
	r.limits, r.cells = limits, make([]Value, len(columns))
	for i, name := range columns {
		r.columns[name] = i
	}
	return r
}

// Blank implements Source.
func (r *JSONLines) Blank() bool {
	return len(bytes.TrimSpace(r.raw)) == 0
}

// Unknown are the members of the current record that the schema does not know.
func (r *JSONLines) Unknown() []Value {
	return r.others
}

// Next implements Source.
func (r *JSONLines) Next() error {
	r.line++
	clear(r.cells)
	r.others = r.others[:0]
	var err error
	r.raw, err = r.source.read(r.raw[:0])
	if err != nil && (!errors.Is(err, io.EOF) || len(r.raw) == 0) {
		return err
	}
	r.raw = bytes.TrimRight(r.raw, "\r\n")
	if r.line == 1 {
		r.raw = engine.TrimBOM(r.raw)
	}
	for i := range r.cells {
		r.cells[i].Native = NativeNull
	}
	if r.Blank() {
		return nil
	}
	if at := engine.BadTextAt(r.raw); at >= 0 {
		return &Error{Code: "csv.encoding", Message: "the row is not text in UTF-8", Offset: at}
	}
	return r.readObject()
}

func (r *JSONLines) readObject() error {
	decoder := jsontext.NewDecoder(bytes.NewReader(r.raw))
	token, err := decoder.ReadToken()
	if err == nil && token.Kind() != jsontext.KindBeginObject {
		return &Error{Code: "csv.malformed", Message: "the line is not a JSON object"}
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
		err = cmp.Or(err, errors.New("text follows the object"))
	}
	at := int(decoder.InputOffset())
	if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, err = int(fault.ByteOffset), fault.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	message := "the line is not a JSON object: " + engine.ClipTo(err.Error(), engine.MaxMessage)
	return &Error{Code: "csv.malformed", Message: message, Offset: at}
}

func (r *JSONLines) readMember(decoder *jsontext.Decoder) error {
	name, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	at, known := r.columns[name.String()]
	if !known {
		start := int(decoder.InputOffset()) - len(name.String()) - len(`""`)
		r.others = append(r.others, Value{Text: []byte(name.String()), Start: max(start, 0)})
		return decoder.SkipValue()
	}
	value, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	f, err := scalar(value)
	f.Start = int(decoder.InputOffset()) - len(value)
	if err != nil {
		return err
	}
	r.cells[at] = f
	return nil
}
