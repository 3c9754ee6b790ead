package zshot

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

func TestShot(t *testing.T) {
	b := browser.Open(t)
	for _, line := range strings.Split(os.Getenv("SHOTS"), ";") {
		f := strings.Fields(line) // path out width theme mode
		w, _ := strconv.Atoi(f[2])
		theme := browser.Light
		if f[3] == "dark" {
			theme = browser.Dark
		}
		tab := b.Tab(t, browser.Viewport{Width: int64(w), Theme: theme, Print: f[4] == "print", ForcedColors: f[4] == "forced"})
		base := "http://127.0.0.1:8077"
		tab.SetCookies(base, &http.Cookie{Name: "sv_session", Value: os.Getenv("SESSION")})
		tab.Go(base + f[0])
		tab.Screenshot(f[1])
		tab.Close()
	}
}
