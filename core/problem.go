package core

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// ProblemType is the media type of every error body (RFC 9457).
const ProblemType = "application/problem+json"

// ErrorWriter shows an error to the client.
type ErrorWriter func(c echo.Context, err *Error)

// HandleError returns the handler that answers every error with a problem document. Errors of the service itself are
// logged with their cause; a refusal without one is on purpose.
func HandleError(log *slog.Logger, write ErrorWriter) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		ctx := c.Request().Context()
		if c.Response().Committed {
			// Every client that leaves a stream of events ends it this way.
			if errors.Is(ctx.Err(), context.Canceled) {
				return
			}
			log.WarnContext(ctx, "failed after the answer had begun", "error", err)
			return
		}
		clientErr := refusalFor(ctx, err)
		status := Spec(clientErr.Code).Status
		isPlanned := clientErr.cause == nil && errors.Unwrap(err) == nil
		if status >= http.StatusInternalServerError && !isPlanned && !errors.Is(err, context.Canceled) {
			log.ErrorContext(ctx, "request failed", "code", clientErr.Code, "error", err,
				"request_id", RequestID(ctx), "route", c.Path())
		}
		write(c, clientErr)
	}
}

// refusalFor is the refusal of a request that has ended with an error. A client that has disconnected cannot read it,
// and the logs have that as its fault, whatever error the disconnection has caused.
func refusalFor(ctx context.Context, err error) *Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return NewError(api.CodeRequestTimeout, "The client disconnected.").Because(err)
	}
	return AsError(err)
}

const refusalKey = "core.refusal"

// NoteRefusal keeps for the request log why a page refuses a request, where the page itself shows the refusal.
func NoteRefusal(c echo.Context, refusal *Error) { c.Set(refusalKey, refusal) }

// RefusalOf returns the refusal that NoteRefusal has kept; nil for a request that no page has refused.
func RefusalOf(c echo.Context) *Error {
	refusal, _ := c.Get(refusalKey).(*Error)
	return refusal
}

// AsError translates any error into one for the client: the framework's by their status, the
// database's by whether trying again makes sense, and everything unknown into an internal error.
func AsError(err error) *Error {
	if clientErr, ok := errors.AsType[*Error](err); ok {
		return clientErr
	}
	if httpErr, ok := errors.AsType[*echo.HTTPError](err); ok {
		return fromFramework(httpErr)
	}
	if errors.Is(err, db.ErrOutcomeUnknown) {
		unknown := NewError(api.CodeOutcomeUnknown,
			"It is not known whether the change was made. Look for it before you send the request again.")
		unknown.Retryable = false
		return unknown.Because(err)
	}
	if db.IsUnavailable(err) {
		return Unavailable(err)
	}
	return internalError(err)
}

func internalError(cause error) *Error {
	return NewError(api.CodeInternalError,
		"Something went wrong on our side. Tell us the request id if it happens again.").Because(cause)
}

func fromFramework(err *echo.HTTPError) *Error {
	switch err.Code {
	case http.StatusNotFound:
		return NewError(api.CodeNotFound,
			"This URL does not exist. The paths of the API are listed at /api/docs/. If curl -T has added the name of "+
				"a file to the URL, leave off the slash before it.")
	case http.StatusMethodNotAllowed:
		return NewError(api.CodeMethodNotAllowed,
			"This URL does not accept this method; the Allow header lists the accepted methods.")
	case http.StatusRequestEntityTooLarge:
		return NewError(api.CodePayloadTooLarge, "The request body is larger than this server accepts.")
	case http.StatusUnsupportedMediaType:
		return NewError(api.CodeUnsupportedMediaType, "This URL does not accept this kind of body.")
	case http.StatusBadRequest:
		return InvalidPayload("The request is malformed.").Because(err)
	default:
		return internalError(err)
	}
}

// WriteProblem answers with a problem document.
func WriteProblem(c echo.Context, err *Error) {
	spec := Spec(err.Code)
	header := c.Response().Header()
	err.SetRetryAfter(header)
	if spec.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", challenge(err.Code))
	}
	header.Set("Cache-Control", "no-store")
	header.Set(echo.HeaderContentType, ProblemType)
	body, marshalErr := json.Marshal(err.Problem(RequestID(c.Request().Context())))
	if marshalErr != nil || c.Request().Method == http.MethodHead {
		c.Response().WriteHeader(spec.Status)
		return
	}
	// The client has gone, so nothing can be answered.
	_ = c.Blob(spec.Status, ProblemType, body)
}

// challenge says how to authenticate instead.
func challenge(code api.Code) string {
	if code == api.CodeSignatureInvalid {
		return HeaderSignature
	}
	return "Bearer"
}

// Problem renders the error for the request with the id.
func (e *Error) Problem(requestID string) api.Problem {
	spec := Spec(e.Code)
	return api.Problem{
		Type:              "/docs/errors/" + string(spec.Code) + "/",
		Title:             spec.Title,
		Status:            spec.Status,
		Detail:            e.Detail,
		Code:              spec.Code,
		RequestID:         requestID,
		Retryable:         e.Retryable,
		RunID:             e.RunID,
		Differs:           e.Differs,
		OriginalRequestID: e.OriginalRequestID,
		Errors:            e.Fields,
	}
}
