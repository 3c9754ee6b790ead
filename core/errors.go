package core

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Error is an error for the client, made where the rule lives that was broken and rendered as a
// problem document (RFC 9457) by HandleError.
type Error struct {
	Code   api.Code
	Detail string
	// Retryable begins as the code's own and is false where the rule knows better.
	Retryable bool
	// RetryAfter is sent rounded up to whole seconds when it is positive.
	RetryAfter time.Duration
	Fields     []api.FieldError
	// RunID is the run that the request may have started (outcome_unknown).
	RunID string
	// Differs names the parts of the request that are not those of the key's first use.
	Differs []string
	// OriginalRequestID is the Request-Id of the key's first use.
	OriginalRequestID string

	cause error
}

// sentence says what is wrong in one place without the rest of the problem around it.
func sentence(f api.FieldError) string {
	text := strings.TrimPrefix(f.Pointer, "/") + f.Parameter + " " + f.Detail
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// NewError makes an error for the client. The detail says what was wrong and what to do about it.
func NewError(code api.Code, detail string) *Error {
	return &Error{Code: code, Detail: detail, Retryable: Spec(code).Retryable}
}

// NotFound says that there is no such thing, or none that the caller may know of.
func NotFound(what string) *Error {
	return NewError(api.CodeNotFound, fmt.Sprintf("There is no such %s in your organization.", what))
}

// PermissionDenied says what the caller may not do, and who may.
func PermissionDenied(detail string) *Error { return NewError(api.CodePermissionDenied, detail) }

// InvalidPayload says that the body is at fault.
func InvalidPayload(detail string, fields ...api.FieldError) *Error {
	err := NewError(api.CodeInvalidPayload, detail)
	err.Fields = fields
	return err
}

// InvalidField says that one field of a form is at fault.
func InvalidField(field api.FieldError) *Error {
	return InvalidPayload("Please look at 1 field again.", field)
}

// InvalidParameter says that one parameter of the query, the path or the header is at fault.
func InvalidParameter(parameter, detail string) *Error {
	field := api.FieldError{Parameter: parameter, Code: "invalid", Detail: detail}
	err := NewError(api.CodeInvalidParameter, sentence(field))
	err.Fields = []api.FieldError{field}
	return err
}

// RateLimited says that the caller has to slow down and may then send the same request again.
func RateLimited(detail string, wait time.Duration) *Error {
	err := NewError(api.CodeRateLimited, detail+" Wait for the time in Retry-After and send the same request again.")
	err.RetryAfter = max(wait, time.Second)
	return err
}

// Unavailable says that the service cannot answer now, that the request has changed nothing and that it
// may be sent again.
func Unavailable(cause error) *Error {
	err := NewError(api.CodeUnavailable,
		"The service cannot answer right now. This request has changed nothing; send it again.")
	err.RetryAfter = time.Second
	return err.Because(cause)
}

// RetrySeconds is what Retry-After says: whole seconds, rounded up.
func (e *Error) RetrySeconds() int {
	return seconds(e.RetryAfter)
}

// SetRetryAfter sets Retry-After where the error has a time.
func (e *Error) SetRetryAfter(header http.Header) {
	if e.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(e.RetrySeconds()))
	}
}

// Because adds the cause, which is logged and never shown to the client.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error returns the code and the detail, with the cause where there is one.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	return e.cause
}

// Is reports whether the target is the error's code, for errors.Is.
func (e *Error) Is(target error) bool {
	code, ok := target.(api.Code)
	return ok && code == e.Code
}
