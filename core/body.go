package core

import (
	"cmp"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/api"
)

const wrongType = "has the wrong type"

// ReadJSON reads a JSON body of at most limit bytes to its end and decodes it strictly: unknown members,
// other spellings of their names, duplicates and data after the value are refused with a pointer to
// the member. A PATCH may also call its body a merge patch (RFC 7396), which it is. It returns the bytes, for callers
// that need their digest.
func ReadJSON(c echo.Context, check *Validator, limit int64, value any) ([]byte, error) {
	types := []string{"application/json"}
	if c.Request().Method == http.MethodPatch {
		types = append(types, "application/merge-patch+json")
	}
	body, err := ReadBody(c, limit, types...)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, value, json.RejectUnknownMembers(true)); err != nil {
		return nil, invalidJSON(err, value)
	}
	if jsontext.Value(body).Kind() == jsontext.KindNull {
		return nil, invalidBody("", "must be an object")
	}
	return body, check.Body(value)
}

// ReadBody reads a body of at most limit bytes to its end. It must have one of the media types.
func ReadBody(c echo.Context, limit int64, mediaTypes ...string) ([]byte, error) {
	contentType, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil || !slices.Contains(mediaTypes, contentType) {
		return nil, NewError(api.CodeUnsupportedMediaType,
			"The body must be sent with Content-Type: "+strings.Join(mediaTypes, " or ")+".")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, limit))
	if err != nil {
		return nil, bodyFault(err, limit)
	}
	if _, err := ConfirmAfterBody(c.Request().Context()); err != nil {
		return nil, err
	}
	return body, nil
}

// WatchedBody is the body of a request, with what was read of it.
type WatchedBody struct {
	io.ReadCloser

	// Size is how much was read.
	Size int64
	// Asked is set by the first read, which gives a client that waits for permission to send its answer.
	Asked bool
	// Err is what has ended the reading: io.EOF at the end of the body, nil while more can be read.
	Err error
	// Sum digests what is read; nil where nobody wants to know.
	Sum hash.Hash
}

// WatchBody returns the body of a request that has a WatchedBody already, or gives it one.
func WatchBody(request *http.Request) *WatchedBody {
	body, watched := request.Body.(*WatchedBody)
	if !watched {
		body = &WatchedBody{ReadCloser: request.Body}
		request.Body = body
	}
	return body
}

// Read reads on.
func (b *WatchedBody) Read(p []byte) (int, error) {
	b.Asked = true
	n, err := b.ReadCloser.Read(p)
	b.Size += int64(n)
	b.Err = cmp.Or(b.Err, err)
	if b.Sum != nil {
		b.Sum.Write(p[:n])
	}
	return n, err
}

// Close gives up the rest of the body.
func (b *WatchedBody) Close() error {
	b.Err = cmp.Or(b.Err, http.ErrBodyReadAfterClose)
	return b.ReadCloser.Close()
}

func bodyFault(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return NewError(api.CodePayloadTooLarge, fmt.Sprintf("The body is larger than %d bytes.", limit))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return NewError(api.CodeRequestTimeout, "The body did not arrive in time.").Because(err)
	}
	return InvalidPayload("The connection ended before the body was complete.").Because(err)
}

func invalidJSON(err error, value any) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return invalidBody(semantic.JSONPointer, semanticFault(semantic, value)).Because(err)
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok:
		return invalidBody("", "is not well-formed JSON").Because(err)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return invalidBody(syntactic.JSONPointer, "is duplicated").Because(err)
	default:
		return invalidBody(syntactic.JSONPointer, "is not well-formed JSON").Because(err)
	}
}

func semanticFault(err *json.SemanticError, value any) string {
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return unknownMember(err.JSONPointer, reflect.TypeOf(value).Elem())
	case errors.Is(err, strconv.ErrRange):
		return "is out of range"
	case err.GoType == nil:
		return wrongType
	}
	switch err.GoType.Kind() {
	case reflect.String:
		return "must be a string"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "must be a whole number"
	case reflect.Slice:
		return "must be an array"
	case reflect.Struct, reflect.Map:
		return "must be an object"
	default:
		return wrongType
	}
}

// unknownMember says that a body of the type has no member at the pointer, and which of its members has one of that
// name.
func unknownMember(at jsontext.Pointer, body reflect.Type) string {
	const detail = "is not a known member"
	if name := at.LastToken(); at.Parent() == "" && name != "" && body.Kind() == reflect.Struct {
		for outer := range body.Fields() {
			if owner := memberName(outer); owner != "" && hasMember(outer.Type, name) {
				return detail + " here: it belongs in " + owner
			}
		}
	}
	return detail
}

func hasMember(object reflect.Type, name string) bool {
	if object.Kind() != reflect.Struct {
		return false
	}
	for field := range object.Fields() {
		if memberName(field) == name {
			return true
		}
	}
	return false
}

// memberName is the name that a field is tagged with, or "" where it is no member.
func memberName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}

// invalidBody says what is wrong at a place of the body, and in a sentence that names the place.
func invalidBody(at jsontext.Pointer, detail string) *Error {
	field := api.FieldError{Pointer: string(at), Code: "invalid", Detail: detail}
	if at == "" {
		return InvalidPayload("The body "+detail+".", field)
	}
	return InvalidPayload(sentence(field), field)
}
