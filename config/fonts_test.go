package config_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// TestStyleSheetsFindTheirFonts demands that the dashboard and the documentation have the same fonts, from this server.
func TestStyleSheetsFindTheirFonts(t *testing.T) {
	t.Parallel()
	e := fixture.Router(t)
	for _, page := range []string{"/app/sign-in/", "/docs/"} {
		html := get(e, page).Body.String()
		style := regexp.MustCompile(`rel="stylesheet" href="([^"]+)"`).FindStringSubmatch(html)[1]
		fonts := regexp.MustCompile(`url\("?([^")]+)"?\)`).FindAllStringSubmatch(get(e, style).Body.String(), -1)
		preloaded := regexp.MustCompile(`rel="preload" href="([^"]+)" as="font"`).FindAllStringSubmatch(html, -1)
		if len(fonts) != 2 || len(preloaded) != 1 || preloaded[0][1] != fonts[0][1] {
			t.Errorf("%s has the fonts %v and loads %v first, want two and the first of them", page, fonts, preloaded)
		}
		for _, font := range append(fonts, preloaded...) {
			if got := get(e, font[1]); got.Code != http.StatusOK || got.Header().Get("Content-Type") != "font/woff2" {
				t.Errorf("%s is a %s, want a font", font[1], got.Header().Get("Content-Type"))
			}
		}
	}
}
