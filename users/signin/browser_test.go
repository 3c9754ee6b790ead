package signin_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/users/signin"
)

func TestBrowser(t *testing.T) {
	t.Parallel()
	const engine = "AppleWebKit/537.36 (KHTML, like Gecko) "
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0":                         "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + engine + "Chrome/141.0.0.0 Safari/537.36":         "Chrome on Windows",
		"Mozilla/5.0 (Windows NT 10.0) " + engine + "Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0":       "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) " + engine + "Chrome/1 Safari/1 OPR/125.0.0.0":  "Opera on macOS",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) " + engine + "Chrome/141.0.0.0 Safari/537.36":          "Chrome on ChromeOS",
		"Mozilla/5.0 (Linux; Android 10; K) " + engine + "Chrome/141.0.0.0 Mobile Safari/537.36":         "Chrome on Android",
		"Mozilla/5.0 (Linux; Android 10; K) " + engine + "SamsungBrowser/28.0 Chrome/130 Safari/537.36":  "Samsung Internet on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) " + engine + "Version/18.6 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) " + engine + "CriOS/141.0.7390.41 Safari/604.1":   "Chrome on iPad",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) " + engine + "FxiOS/144.0 Safari/605.1":  "Firefox on iPhone",
		"Chrome/141": "Chrome", "curl/8.5.0": "curl/8.5.0", "": "unknown",
	} {
		if got := (signin.Session{UserAgent: agent}).Browser(); got != want {
			t.Errorf("%s = %q, want %q", agent, got, want)
		}
	}
}
