package core

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// ETag names a version of a content by its bytes, in the form of the header.
func ETag(content []byte) string {
	const enough = 16
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:enough]) + `"`
}

// GzipTag ends the tag of a content that is sent compressed: those bytes are others, so their strong tag has to be.
const GzipTag = "-gzip"

// NotModified sets the ETag of an answer to a GET, and reports whether the client has that version, so that the answer
// is 304. It compares weakly (RFC 9110, section 13.1.2). http.ServeContent would also answer ranges, and refuse some
// without a problem document.
func NotModified(c echo.Context, tag string) bool {
	c.Response().Header().Set("ETag", tag)
	had := findTag(c.Request().Header, "If-None-Match", tag, strings.TrimPrefix)
	if had != "" && had != "*" {
		c.Response().Header().Set("ETag", had)
	}
	return had != ""
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
