package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequests changes requests to every operation. Whatever is sent, the answer is one that the OpenAPI document
// describes, and the service never blames itself.
func FuzzRequests(f *testing.F) {
	s := setupExternal(f)
	exercises := s.exercises(f)
	for n, e := range exercises {
		_, query, _ := strings.Cut(e.call.Path, "?")
		f.Add(uint16(n), query, e.call.Header.Get("Content-Type"), e.call.Body)
		f.Add(uint16(n), "cursor=eyJhIjoxfQ&page_size=1", "application/json", `{"a":[1e400,"\u0000"]}`)
	}
	f.Fuzz(func(t *testing.T, n uint16, query, mediaType, body string) {
		c := exercises[int(n)%len(exercises)].call
		path, _, _ := strings.Cut(c.Path, "?")
		if query != "" {
			path += "?" + strings.ReplaceAll(query, " ", "%20") // A space would end the address.
		}
		if _, err := url.Parse(path); err != nil {
			t.Skip(err)
		}
		if c = c.To(path); c.Method != "" && c.Method != http.MethodGet {
			c = c.WithBody(mediaType, body)
		}
		if _, err := s.Send(t.Context(), c); err != nil {
			t.Skip(err) // Go sends no such header.
		}
		if got := s.Do(t, c); got.Status >= http.StatusInternalServerError {
			t.Errorf("%s %s: status = %d, want no fault of the service; body %s", c.Method, path, got.Status, got.Body)
		}
	})
}
