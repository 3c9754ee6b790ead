package core_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// Only what is read can be what the client has. HEAD is answered as GET would be.
func TestNotModifiedIsForReads(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]bool{
		http.MethodGet: true, http.MethodHead: true, http.MethodPost: false, http.MethodPatch: false,
	} {
		request := httptest.NewRequest(method, "/", http.NoBody)
		request.Header.Set("If-None-Match", `"a"`)
		answer := httptest.NewRecorder()
		c := echo.New().NewContext(request, answer)
		if is := core.NotModified(c, `"a"`); is != want || answer.Header().Get("Etag") != `"a"` {
			t.Errorf("%s: not modified = %v with %s, want %v", method, is, answer.Header().Get("Etag"), want)
		}
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		had, want string
		is        bool
	}{
		"None":       {"", `"a"`, false},
		"Other":      {`"b", W/"c"`, `"a"`, false},
		"Same":       {`"a"`, `"a"`, true},
		"Weak":       {`W/"a"`, `"a"`, true},
		"InList":     {`"b", "a"`, `"a"`, true},
		"Compressed": {`"a-gzip"`, `"a-gzip"`, true},
		"Any":        {"*", `"a"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			request.Header.Set("If-None-Match", tt.had)
			answer := httptest.NewRecorder()
			c := echo.New().NewContext(request, answer)
			if is := core.NotModified(c, `"a"`); is != tt.is || answer.Header().Get("Etag") != tt.want {
				t.Errorf("not modified = %v with %s, want %v with %s", is, answer.Header().Get("Etag"), tt.is, tt.want)
			}
		})
	}
}
