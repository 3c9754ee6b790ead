package core

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// ETag names a version of a content by its bytes, in the form of the header.
func ETag(content []byte) string {
	const enough = 16
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:enough]) + `"`
}

// GzipTag ends the tag of a content that is sent compressed: those bytes are others, so their strong tag has to be.
const GzipTag = "-gzip"

// NotModified sets the ETag of an answer, and reports whether the client reads what it has in that version, so that the
// answer is 304. It compares weakly (RFC 9110, section 13.1.2). http.ServeContent would also answer ranges, and refuse
// some without a problem document.
func NotModified(c echo.Context, tag string) bool {
	c.Response().Header().Set("ETag", tag)
	if method := c.Request().Method; method != http.MethodGet && method != http.MethodHead {
		return false
	}
	had := findTag(c.Request().Header, "If-None-Match", tag, strings.TrimPrefix)
	if had != "" && had != "*" {
		c.Response().Header().Set("ETag", had)
	}
	return had != ""
}

// AnswerTagged answers with a body and its ETag, or with 304 if the client reads it again and has this version.
func AnswerTagged(c echo.Context, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("render an answer: %w", err)
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "private, no-cache")
	if NotModified(c, ETag(text)) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.JSONBlob(http.StatusOK, text)
}

// Precondition is what a client demands of what it changes: that it still is a version that the client has seen
// (RFC 9110, section 13.1.1). The zero Precondition demands nothing.
type Precondition struct{ header http.Header }

// IfMatch returns the precondition of a request.
func IfMatch(c echo.Context) Precondition {
	return Precondition{header: c.Request().Header}
}

// Check returns precondition_failed if the current version, as AnswerTagged would answer with it, is not one that the
// client has named. It compares strongly, and must run where nobody else can change that version.
func (p Precondition) Check(current any) error {
	if len(p.header.Values("If-Match")) == 0 {
		return nil
	}
	text, err := json.Marshal(current)
	if err != nil {
		return fmt.Errorf("render what is to be changed: %w", err)
	}
	if findTag(p.header, "If-Match", ETag(text), func(tag, _ string) string { return tag }) == "" {
		return NewError(api.CodePreconditionFailed,
			"It was changed since the version that If-Match names. Nothing was changed now. Read it again, and repeat "+
				"the change with the new ETag if it is still right.")
	}
	return nil
}

// findTag returns the form in which a header has the tag: "*", or that of a content with or without compression. It is
// "" where the header does not have it. trim takes the mark of a weak tag off, or leaves it.
func findTag(header http.Header, name, tag string, trim func(tag, weak string) string) string {
	for candidate := range strings.SplitSeq(strings.Join(header.Values(name), ","), ",") {
		candidate = trim(strings.TrimSpace(candidate), "W/")
		if candidate == "*" || strings.Replace(candidate, GzipTag+`"`, `"`, 1) == tag {
			return candidate
		}
	}
	return ""
}
