package core

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"
)

// ReadJSON reads a JSON body of at most limit bytes to its end and decodes it strictly: unknown members,
// other spellings of their names, duplicates and data after the value are refused with a pointer to
// the member. It returns the bytes, for callers that need their digest.
func ReadJSON(c echo.Context, check *Validator, limit int64, value any) ([]byte, error) {
	body, err := ReadBody(c, limit, "application/json")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, value, json.RejectUnknownMembers(true)); err != nil {
		return nil, invalidJSON(err)
	}
	return body, check.Body(value)
}

// ReadBody reads a body of at most limit bytes to its end. It must have one of the media types.
func ReadBody(c echo.Context, limit int64, mediaTypes ...string) ([]byte, error) {
	contentType, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil || !slices.Contains(mediaTypes, contentType) {
		return nil, NewError(CodeUnsupportedMediaType,
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

func bodyFault(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return NewError(CodePayloadTooLarge, fmt.Sprintf("The body is larger than %d bytes.", limit))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return NewError(CodeRequestTimeout, "The body did not arrive in time.").Because(err)
	}
	return InvalidPayload("The connection ended before the body was complete.").Because(err)
}

func invalidJSON(err error) error {
	var pointer jsontext.Pointer
	detail := "is not well-formed JSON"
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		pointer, detail = semantic.JSONPointer, "has an unexpected member or type"
		if errors.Is(err, json.ErrUnknownName) {
			detail = "is not a known member"
		}
	} else if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		pointer = syntactic.JSONPointer
		if errors.Is(err, jsontext.ErrDuplicateName) {
			detail = "is duplicated"
		}
	}
	return InvalidPayload("The body is invalid; see errors.",
		FieldError{Pointer: string(pointer), Code: "invalid", Detail: detail}).Because(err)
}
