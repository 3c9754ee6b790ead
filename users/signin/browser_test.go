package signin_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/users/signin"
)

func TestBrowser(t *testing.T) {
	t.Parallel()
	const (
		webkit = " AppleWebKit/537.36 (KHTML, like Gecko) "
		chrome = webkit + "Chrome/141.0.0.0 Safari/537.36"
		iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X)" + webkit
	)
	for want, agent := range map[string]string{
		"Firefox on Linux":            "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
		"Chrome on Windows":           "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + chrome,
		"Edge on Windows":             "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + chrome + " Edg/141.0.0.0",
		"Opera on macOS":              "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)" + chrome + " OPR/125.0.0.0",
		"Chrome on ChromeOS":          "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0)" + chrome,
		"Chrome on Android":           "Mozilla/5.0 (Linux; Android 10; K)" + chrome,
		"Samsung Internet on Android": "Mozilla/5.0 (Linux; Android 10; K) SamsungBrowser/28.0" + chrome,
		"Safari on iPhone":            iphone + "Version/18.6 Mobile/15E148 Safari/604.1",
		"Firefox on iPhone":           iphone + "FxiOS/144.0 Mobile/15E148 Safari/605.1.15",
		"Chrome on iPad":              "Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) CriOS/141.0.7390.41 Safari/604.1",
		"Chrome":                      "Chrome/141", "curl/8.5.0": "curl/8.5.0", "unknown": "",
	} {
		if got := (signin.Session{UserAgent: agent}).Browser(); got != want {
			t.Errorf("%s = %q, want %q", agent, got, want)
		}
	}
}
