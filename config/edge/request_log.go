package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const (
	// keyHashDigits is how much of the hash of an idempotency key is logged. The key itself is the client's, and may
	// hold names.
	keyHashDigits = 16
	// loggedPath bounds the path of a request that no route matches.
	loggedPath = 200
)

// DescribeRequest returns who made a request, and what it led to, for its line in the log.
func DescribeRequest(c echo.Context) []slog.Attr {
	var attrs []slog.Attr
	if principal, ok := core.PrincipalFrom(c.Request().Context()); ok {
		attrs = append(attrs, slog.String("org", principal.OrgSlug), slog.String("token", principal.TokenID.String()),
			slog.String("role", string(principal.Role)))
	}
	header := c.Response().Header()
	if key := header.Get(idempotency.Header); key != "" {
		sum := sha256.Sum256([]byte(key))
		attrs = append(attrs, slog.String("key_hash", hex.EncodeToString(sum[:])[:keyHashDigits]))
	}
	if outcome := replayOutcome(c); outcome != "" {
		attrs = append(attrs, slog.String("outcome", outcome))
	}
	if run := runOf(c); run != uuid.Nil {
		attrs = append(attrs, slog.String("run", run.String()))
	}
	if c.Path() == "" {
		path := c.Request().URL.Path
		attrs = append(attrs, slog.String("path", path[:min(len(path), loggedPath)]))
	}
	return attrs
}

// replayOutcome reports whether a request that creates something did so, or repeated one that did.
func replayOutcome(c echo.Context) string {
	response := c.Response()
	switch {
	case response.Header().Get(idempotency.HeaderReplayed) != "":
		return "replayed"
	case response.Status >= http.StatusBadRequest && c.Request().Method == http.MethodPost:
		return "refused"
	case response.Status == http.StatusCreated:
		return "new"
	default:
		return ""
	}
}

// runOf returns the run that a request has started, or is about; uuid.Nil for any other.
func runOf(c echo.Context) uuid.UUID {
	location := c.Response().Header().Get(echo.HeaderLocation)
	_, text, started := strings.Cut(location, "/runs/")
	if !started && strings.Contains(c.Path(), "/runs/:id/") {
		text = c.Param("id")
	}
	id, _ := core.ParseID(strings.TrimSuffix(text, "/"))
	return id
}
