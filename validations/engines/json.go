package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Numbers beyond these bounds have no place in a double and would cost exact arithmetic too much.
const (
	maxNumberChars = 1000
	maxExponent    = 308
)

// jsonReader builds the values of a JSON document. The decoder below it refuses duplicate names, lone surrogates and
// invalid UTF-8.
type jsonReader struct {
	text    []byte
	decoder *jsontext.Decoder
	limits  Limits
	values  int
}

func parseJSON(text []byte, limits Limits) (*tree, *treeError) {
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
		at := position{offset: end}
		return nil, &treeError{"json.malformed", "something follows the end of the document", at}
	}
	return &tree{
		value:  value,
		lines:  newLineIndex(text, limits.MaxExcerpt),
		locate: func(wanted *spot) { locateJSON(text, limits, wanted) },
	}, nil
}

func newJSONReader(text []byte, limits Limits) *jsonReader {
	return &jsonReader{text: text, decoder: jsontext.NewDecoder(bytes.NewBuffer(text)), limits: limits}
}

func (r *jsonReader) value(depth int) (any, error) {
	start := r.next()
	r.values++
	if r.values > r.limits.MaxValues {
		message := fmt.Sprintf("the document has more than %d values", r.limits.MaxValues)
		return nil, &treeError{"json.too_large", message, position{offset: start}}
	}
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{', '[':
		if depth >= r.limits.MaxDepth {
			message := fmt.Sprintf("nested deeper than %d levels", r.limits.MaxDepth)
			return nil, &treeError{"json.depth", message, position{offset: start}}
		}
		if token.Kind() == '[' {
			return r.array(depth + 1)
		}
		return r.object(depth + 1)
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
	if !numberInRange(literal) {
		message := clip(literal) + " is out of the range of numbers"
		return nil, &treeError{"json.number_range", message, position{offset: start}}
	}
	return json.Number(literal), nil
}

// next is where the next token begins: the decoder's offset stands behind the last one.
func (r *jsonReader) next() int {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[offset]) >= 0 {
		offset++
	}
	return offset
}

// fault says in plain words why the decoder stopped.
func (r *jsonReader) fault(err error) *treeError {
	if fault, ok := errors.AsType[*treeError](err); ok {
		return fault
	}
	fault := &treeError{code: "json.malformed", at: position{offset: r.next()}}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if ok {
		fault.at.offset = int(syntactic.ByteOffset)
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		fault.code = "json.duplicate_name"
		fault.message = fmt.Sprintf("the name %s occurs twice", quote(syntactic.JSONPointer.LastToken()))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), fault.at.offset >= len(r.text):
		fault.message = "the document ends too early"
	case strings.Contains(err.Error(), "surrogate"):
		fault.message = "a string holds half of a surrogate pair"
	case strings.Contains(err.Error(), "UTF-8"):
		fault.code = "json.invalid_utf8"
		fault.message = "the text is not valid UTF-8"
	default:
		found, _ := strconv.Unquote(strconv.QuoteRune(rune(r.text[fault.at.offset])))
		fault.message = quote(found) + " is not expected here"
	}
	return fault
}

// numberInRange says whether a literal fits a double and is short enough for exact arithmetic.
func numberInRange(literal string) bool {
	if len(literal) > maxNumberChars {
		return false
	}
	if at := strings.IndexAny(literal, "eE"); at >= 0 {
		exponent, err := strconv.Atoi(literal[at+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return false
		}
	}
	_, err := strconv.ParseFloat(literal, 64)
	return err == nil
}

// locateJSON fills in the spots of a text that was read before.
func locateJSON(text []byte, limits Limits, wanted *spot) {
	r := newJSONReader(text, limits)
	// The text was read to its end before, so an error cannot occur; what it would leave is a finding without a line.
	_ = r.locate(wanted)
}

func (r *jsonReader) locate(wanted *spot) error {
	if wanted == nil {
		return r.decoder.SkipValue()
	}
	wanted.value = position{offset: r.next()}
	if len(wanted.children) == 0 {
		return r.decoder.SkipValue()
	}
	token, err := r.decoder.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		err = r.locateMembers(wanted)
	case '[':
		err = r.locateItems(wanted)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	_, err = r.decoder.ReadToken()
	return err
}

func (r *jsonReader) locateMembers(wanted *spot) error {
	for r.decoder.PeekKind() != '}' {
		start := r.next()
		name, err := r.decoder.ReadToken()
		if err != nil {
			return err
		}
		below := wanted.child(name.String())
		if below != nil {
			below.name = position{offset: start}
		}
		if err := r.locate(below); err != nil {
			return err
		}
	}
	return nil
}

func (r *jsonReader) locateItems(wanted *spot) error {
	for i := 0; r.decoder.PeekKind() != ']'; i++ {
		below := wanted.child(strconv.Itoa(i))
		if below != nil {
			below.name = position{offset: r.next()}
		}
		if err := r.locate(below); err != nil {
			return err
		}
	}
	return nil
}
