package idempotency

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// Only answers that come from a key's first request carry these headers.
const (
	HeaderReplayed = "Idempotent-Replayed"
	HeaderOriginal = "Original-Request-Id"
)

// maxUserAgent is how many characters of a User-Agent are kept.
const maxUserAgent = 500

// Answer is the answer to a request: the response of its own work, or the stored one of the key's first request.
type Answer struct {
	Response Response
	// ExpiresAt is when the key expires; zero when the request has no key.
	ExpiresAt time.Time
	Replayed  bool
	// OriginalRequestID is the first request's id. It is set when Replayed, and when this request resumed the first
	// one.
	OriginalRequestID string
}

// ReplayOf returns the answer that repeats a finished record.
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
	a.WriteOrigin(c)
}

// WriteOrigin says in the answer's headers which request it comes from, if that is not this one.
func (a Answer) WriteOrigin(c echo.Context) {
	header := c.Response().Header()
	if a.Replayed {
		header.Set(HeaderReplayed, "true")
	}
	if a.OriginalRequestID != "" {
		header.Set(HeaderOriginal, a.OriginalRequestID)
	}
}

// Write writes the answer.
func (a Answer) Write(c echo.Context) error {
	a.WriteHeaders(c)
	return c.Blob(a.Response.Status, a.Response.Headers.ContentType, a.Response.Body)
}

// CallerOf returns what is kept of a request.
func CallerOf(c echo.Context) Caller {
	// An address that cannot be parsed stays zero, which means that it is not known.
	ip, _ := netip.ParseAddr(c.RealIP())
	return Caller{
		Method: c.Request().Method, Path: c.Request().URL.EscapedPath(),
		RequestID: core.RequestID(c.Request().Context()), IP: ip.WithZone(""),
		UserAgent: core.StorableUpTo(c.Request().UserAgent(), maxUserAgent),
	}
}
