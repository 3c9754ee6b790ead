package core

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// maxHeaderBytes bounds the names and values of a request's headers together.
const maxHeaderBytes = 32 << 10

// maxQueryBytes bounds the query of an address as it was sent. A search with all filters is far shorter.
const maxQueryBytes = 16 << 10

// WellFormed refuses requests that no route could make sense of: text in the address that is not UTF-8
// or holds NUL, which a text column cannot keep, and headers and queries that are too large.
func WellFormed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		if size := headerBytes(request.Header); size > maxHeaderBytes {
			return NewError(api.CodeRequestHeaderTooLarge, fmt.Sprintf(
				"The headers have %d bytes; %d are allowed. Nothing was read or stored.", size, maxHeaderBytes))
		}
		if !isStorable(request.URL.Path) {
			return NewError(api.CodeNotFound, "The URL has a path that is not valid UTF-8 or contains NUL.")
		}
		if size := len(request.URL.RawQuery); size > maxQueryBytes {
			return InvalidParameter("query", fmt.Sprintf("has %d bytes; %d are allowed", size, maxQueryBytes))
		}
		query, err := url.ParseQuery(request.URL.RawQuery)
		if err != nil {
			// Left out instead, a broken ?version= would start the run of another version.
			return InvalidParameter("query", "has a parameter that cannot be read; separate by & and write % as %25")
		}
		for name, values := range query {
			if !isStorable(name) || !isStorable(strings.Join(values, "")) {
				return InvalidParameter(strings.ToValidUTF8(name, "?"), "must be UTF-8 without NUL")
			}
		}
		return next(c)
	}
}

func headerBytes(header http.Header) int {
	size := 0
	for name, values := range header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}

// Storable makes text from outside fit for a text column, which takes neither NUL nor what is not UTF-8: U+FFFD stands
// for them.
func Storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// StorableUpTo is Storable for a column that keeps so many characters and no more.
func StorableUpTo(text string, limit int) string {
	text = Storable(text)
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}

// isStorable reports whether a text column takes the text as it is.
func isStorable(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\x00")
}
