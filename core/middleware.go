package core

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// HeaderRequestID names the request in answers, logs and problem documents.
const HeaderRequestID = "Request-Id"

// requestID matches the ids that are accepted from clients.
var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// RequestIDs gives every request an id: the client's own when it is 1 to 128 letters, digits or ._-,
// else a fresh UUIDv7. The answer carries it.
func RequestIDs() echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			id := c.Request().Header.Get(HeaderRequestID)
			if !requestID.MatchString(id) {
				fresh, err := uuid.NewV7()
				if err != nil {
					return fmt.Errorf("make a request id: %w", err)
				}
				id = fresh.String()
			}
			c.Response().Header().Set(HeaderRequestID, id)
			c.SetRequest(c.Request().WithContext(WithRequestID(c.Request().Context(), id)))
			return next(c)
		}
	}
}

// Recover turns a panic into an internal error, so that one bad request never takes the process down.
func Recover(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			defer func() {
				reason := recover()
				if reason == nil {
					return
				}
				if abort, ok := reason.(error); ok && errors.Is(abort, http.ErrAbortHandler) {
					panic(reason)
				}
				log.ErrorContext(c.Request().Context(), "panic", "reason", reason, "stack", string(debug.Stack()))
				err = internalError(fmt.Errorf("panic: %v", reason))
			}()
			return next(c)
		}
	}
}

const receivedKey = "core.received"

// ReceivedAt is when Observe saw the request: when its headers had arrived. It is zero where nothing observes.
func ReceivedAt(c echo.Context) time.Time {
	received, _ := c.Get(receivedKey).(time.Time)
	return received
}

// Observer begins to observe a request, and returns what is called when the request was answered. It returns nil for a
// request that it leaves out.
type Observer func(c echo.Context) func(Observed)

// Observed is what became of a request.
type Observed struct {
	// At is when its headers had arrived.
	At   time.Time
	Took time.Duration
	// Status is that of the answer.
	Status int
	// Refusal is the error that the request ended with; nil where it had none.
	Refusal *Error
}

// Observe shows every request to the observers. It writes errors itself, so that they see the status of the answer.
func Observe(observers ...Observer) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			seen := Observed{At: time.Now()}
			c.Set(receivedKey, seen.At)
			answered := make([]func(Observed), 0, len(observers))
			for _, observe := range observers {
				if done := observe(c); done != nil {
					answered = append(answered, done)
				}
			}
			if err := next(c); err != nil {
				seen.Refusal = refusalFor(c.Request().Context(), err)
				c.Error(err)
			}
			seen.Took, seen.Status = time.Since(seen.At), c.Response().Status
			for _, done := range answered {
				done(seen)
			}
			return nil
		}
	}
}

// AccessLog writes one line per request, except for the probes. It adds what describe returns of an answered request.
func AccessLog(log *slog.Logger, describe func(echo.Context) []slog.Attr) Observer {
	return func(c echo.Context) func(Observed) {
		if c.Path() == "/livez/" || c.Path() == "/readyz/" {
			return nil
		}
		return func(seen Observed) {
			ctx := c.Request().Context()
			attrs := []slog.Attr{
				slog.String("method", c.Request().Method),
				slog.String("route", c.Path()),
				slog.Int("status", seen.Status),
				slog.Int64("bytes_out", c.Response().Size),
				slog.Float64("ms", float64(seen.Took.Microseconds())/1000),
				slog.String("request_id", RequestID(ctx)),
				slog.String("client", c.RealIP()),
			}
			if seen.Refusal != nil {
				attrs = append(attrs, slog.String("code", string(seen.Refusal.Code)))
			}
			log.LogAttrs(ctx, slog.LevelInfo, "request", append(attrs, describe(c)...)...)
		}
	}
}
