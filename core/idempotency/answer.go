package idempotency

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// The headers that only answers from a key's first request carry.
const (
	headerReplayed = "Idempotent-Replayed"
	headerOriginal = "Original-Request-Id"
)

// maxUserAgent is how many characters of a User-Agent are kept.
const maxUserAgent = 500

// Answer is what a request is answered with: by its own work, or by that of the key's first request.
type Answer struct {
	Response Response
	// ExpiresAt is the key's end; zero when the request has no key.
	ExpiresAt time.Time
	Replayed  bool
	// OriginalRequestID is the first request's id, set when Replayed and when this request went on where the
	// first one stopped.
	OriginalRequestID string
}

// ReplayOf is the answer that repeats a finished record.
func ReplayOf(record Record) Answer {
	return Answer{
		Response: record.Response, ExpiresAt: record.ExpiresAt, Replayed: true, OriginalRequestID: record.RequestID,
	}
}

// WriteHeaders writes everything of the answer but its status and body.
func (a Answer) WriteHeaders(c echo.Context) {
	header := c.Response().Header()
	if a.Response.Headers.Location != "" {
		header.Set(echo.HeaderLocation, a.Response.Headers.Location)
	}
	header.Set(echo.HeaderCacheControl, "no-store")
	if !a.ExpiresAt.IsZero() {
		header.Set("Idempotency-Expires", a.ExpiresAt.UTC().Format(http.TimeFormat))
	}
	if a.Replayed {
		header.Set(headerReplayed, "true")
	}
	if a.OriginalRequestID != "" {
		header.Set(headerOriginal, a.OriginalRequestID)
	}
}

// Write writes the answer.
func (a Answer) Write(c echo.Context) error {
	a.WriteHeaders(c)
	return c.Blob(a.Response.Status, a.Response.Headers.ContentType, a.Response.Body)
}

// CallerOf is what is kept of a request.
func CallerOf(c echo.Context) Caller {
	// An address that cannot be parsed is not known.
	ip, _ := netip.ParseAddr(c.RealIP())
	return Caller{
		Method: c.Request().Method, Path: c.Request().URL.EscapedPath(),
		RequestID: core.RequestID(c.Request().Context()), IP: ip.WithZone(""),
		UserAgent: core.StorableUpTo(c.Request().UserAgent(), maxUserAgent),
	}
}
