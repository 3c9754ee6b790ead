package config_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// TestStyleSheetsFindTheirFonts demands that the dashboard and the documentation have the same fonts, from this server.
func TestStyleSheetsFindTheirFonts(t *testing.T) {
	t.Parallel()
	e := fixture.Router(t)
	get := func(address string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, http.NoBody))
		if answer.Code != http.StatusOK {
			t.Errorf("%s = %d, want 200", address, answer.Code)
		}
		return answer
	}
	for _, page := range []string{"/app/sign-in/", "/docs/"} {
		html := get(page).Body.String()
		style := regexp.MustCompile(`rel="stylesheet" href="([^"]+)"`).FindStringSubmatch(html)[1]
		fonts := regexp.MustCompile(`url\("?([^")]+)"?\)`).FindAllStringSubmatch(get(style).Body.String(), -1)
		preloaded := regexp.MustCompile(`rel="preload" href="([^"]+)" as="font"`).FindAllStringSubmatch(html, -1)
		if len(fonts) != 2 || len(preloaded) != 1 || preloaded[0][1] != fonts[0][1] {
			t.Errorf("%s has the fonts %v and loads %v first, want two and the first of them", page, fonts, preloaded)
		}
		for _, font := range append(fonts, preloaded...) {
			if got := get(font[1]).Header().Get("Content-Type"); got != "font/woff2" {
				t.Errorf("%s is a %s, want a font", font[1], got)
			}
		}
	}
}
