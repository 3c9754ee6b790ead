package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// jsonReader builds the values of a JSON document. The decoder below it refuses duplicate names, lone surrogates and
// invalid UTF-8.
type jsonReader struct {
	text    []byte
	decoder *jsontext.Decoder
	limits  engine.Limits
	values  int
	// open is where the innermost object or array begins in which reading has failed.
	open *int
}

// ParseJSON reads a JSON text in UTF-8.
func ParseJSON(text []byte, limits engine.Limits) (*Tree, *engine.ReadError) {
	r := newJSONReader(text, limits)
	value, err := r.value(0)
	if err != nil {
		return nil, r.fault(err)
	}
	end := r.next()
	switch _, err := r.decoder.ReadToken(); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, r.fault(err)
	default:
		return nil, engine.ReadErrorAt("json.malformed", "there is more text after the end of the document", end)
	}
	return &Tree{
		Value: value,
		Lines: engine.NewLines(text, limits.MaxExcerpt),
		// The text was read to its end, so an error cannot occur; what it would leave is a finding without a line.
		Locate: func(wanted *Spot) { _ = newJSONReader(text, limits).locate(wanted) },
	}, nil
}

func newJSONReader(text []byte, limits engine.Limits) *jsonReader {
	return &jsonReader{text: text, decoder: jsontext.NewDecoder(bytes.NewBuffer(text)), limits: limits}
}

func (r *jsonReader) value(depth int) (any, error) {
	start := r.next()
	r.values++
	if r.values > r.limits.MaxValues {
		message := fmt.Sprintf("the document has more than %d values", r.limits.MaxValues)
		return nil, engine.ReadErrorAt("json.too_large", message, start)
	}
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{', '[':
		if depth >= r.limits.MaxDepth {
			message := fmt.Sprintf("nested deeper than %d levels", r.limits.MaxDepth)
			return nil, engine.ReadErrorAt("json.depth", message, start)
		}
		read := r.object
		if token.Kind() == '[' {
			read = r.array
		}
		value, err := read(depth + 1)
		if err != nil && r.open == nil {
			r.open = &start
		}
		return value, err
	case '"':
		return token.String(), nil
	case '0':
		return r.number(token.String(), start)
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil //nolint:nilnil // null is a value
	}
}

func (r *jsonReader) object(depth int) (any, error) {
	members := map[string]any{}
	for r.decoder.PeekKind() != '}' {
		name, err := r.decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if members[key], err = r.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := r.decoder.ReadToken()
	return members, err
}

func (r *jsonReader) array(depth int) (any, error) {
	items := []any{}
	for r.decoder.PeekKind() != ']' {
		item, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := r.decoder.ReadToken()
	return items, err
}

func (r *jsonReader) number(literal string, start int) (any, error) {
	if !engine.NumberInRange(literal) {
		message := engine.Clip(literal) + " is outside the range of numbers"
		return nil, engine.ReadErrorAt("json.number_range", message, start)
	}
	return json.Number(literal), nil
}

// next is where the next token begins: the decoder's offset stands behind the last one.
func (r *jsonReader) next() int {
	return len(r.text) - len(bytes.TrimLeft(r.text[r.decoder.InputOffset():], " \t\r\n,:"))
}

// fault says in plain words why the decoder stopped.
func (r *jsonReader) fault(err error) *engine.ReadError {
	if fault, ok := errors.AsType[*engine.ReadError](err); ok {
		return fault
	}
	fault := &engine.ReadError{Code: "json.malformed", At: engine.Position{Offset: r.next()}}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if ok {
		fault.At.Offset = int(syntactic.ByteOffset)
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		fault.Code = "json.duplicate_name"
		fault.Message = fmt.Sprintf("the name %s occurs twice", engine.Quote(syntactic.JSONPointer.LastToken()))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), fault.At.Offset >= len(r.text):
		fault.Message = "the document ends too early" + r.unclosed()
	case strings.Contains(err.Error(), "surrogate"):
		fault.Message = "a string contains half of a surrogate pair"
	case strings.Contains(err.Error(), "UTF-8"):
		fault.Code = "json.invalid_utf8"
		fault.Message = "the text is not valid UTF-8"
	default:
		r.misplaced(fault, err.Error())
	}
	return fault
}

// unclosed says what is not closed where the text ends.
func (r *jsonReader) unclosed() string {
	switch last := r.next(); {
	case last < len(r.text) && r.text[last] == '"':
		return fmt.Sprintf(": the string of line %d is not closed", r.line(last))
	case r.open != nil:
		return fmt.Sprintf(": %c of line %d is not closed", r.text[*r.open], r.line(*r.open))
	default:
		return ""
	}
}

func (r *jsonReader) line(offset int) int { return 1 + bytes.Count(r.text[:offset], []byte("\n")) }

// misplaced says what is wrong with the character that the decoder stopped at, which has its own words for it.
func (r *jsonReader) misplaced(fault *engine.ReadError, words string) {
	at, before := fault.At.Offset, int(r.decoder.InputOffset())
	found := r.text[at]
	isDigit := '0' <= found && found <= '9'
	switch {
	case isDigit && at == before && bytes.HasSuffix(r.text[:at], []byte("0")):
		fault.Message, fault.At.Offset = "a number must not begin with 0", at-1
	case strings.Contains(words, "expecting ','") && (isDigit || strings.IndexByte(`"{[-tfn`, found) >= 0):
		fault.Message, fault.At.Offset = "a comma is missing here", before
		if line := r.line(before); line < r.line(at) {
			fault.Message = fmt.Sprintf("a comma is missing after line %d", line)
		}
	case found == '\n', found == '\r':
		fault.Message = "the string is not closed in its line"
	case found == '"':
		fault.Message = "a quotation mark is not expected here"
	default:
		fault.Message = engine.Quote(string(rune(found))) + " is not expected here"
	}
}

// locate fills in the spots of a text that was read before.
func (r *jsonReader) locate(wanted *Spot) error {
	if wanted == nil {
		return r.decoder.SkipValue()
	}
	wanted.Value = engine.Position{Offset: r.next()}
	if len(wanted.Children) == 0 {
		return r.decoder.SkipValue()
	}
	token, err := r.decoder.ReadToken()
	if err != nil {
		return err
	}
	isObject := token.Kind() == '{'
	if !isObject && token.Kind() != '[' {
		return nil
	}
	for i := 0; r.decoder.PeekKind() != '}' && r.decoder.PeekKind() != ']'; i++ {
		start, name := r.next(), strconv.Itoa(i)
		if isObject {
			if token, err = r.decoder.ReadToken(); err != nil {
				return err
			}
			name = token.String()
		}
		below := wanted.child(name)
		if below != nil {
			below.Name = engine.Position{Offset: start}
		}
		if err := r.locate(below); err != nil {
			return err
		}
	}
	_, err = r.decoder.ReadToken()
	return err
}
