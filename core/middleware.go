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

// ReceivedAt is when AccessLog saw the request: when its headers had arrived. It is zero where nothing is logged.
func ReceivedAt(c echo.Context) time.Time {
	received, _ := c.Get(receivedKey).(time.Time)
	return received
}

// AccessLog writes one line per request, except for the probes. It adds what describe returns of an answered request.
func AccessLog(log *slog.Logger, describe func(echo.Context) []slog.Attr) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if c.Path() == "/livez/" || c.Path() == "/readyz/" {
				return next(c)
			}
			began := time.Now()
			c.Set(receivedKey, began)
			err := next(c)
			if err != nil {
				// The error is written here so that the line has the answer's status.
				c.Error(err)
			}
			ctx := c.Request().Context()
			attrs := []slog.Attr{
				slog.String("method", c.Request().Method),
				slog.String("route", c.Path()),
				slog.Int("status", c.Response().Status),
				slog.Int64("bytes_out", c.Response().Size),
				slog.Float64("ms", float64(time.Since(began).Microseconds())/1000),
				slog.String("request_id", RequestID(ctx)),
				slog.String("client", c.RealIP()),
			}
			if err != nil {
				attrs = append(attrs, slog.String("code", string(AsError(err).Code)))
			}
			log.LogAttrs(ctx, slog.LevelInfo, "request", append(attrs, describe(c)...)...)
			return nil
		}
	}
}
