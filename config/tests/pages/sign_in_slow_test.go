//go:build slow

package pages

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestDemonstrationIsSignedInToAfterAnotherSeedInABrowser seeds the demonstration again and signs in with what the
// first time has printed.
func TestDemonstrationIsSignedInToAfterAnotherSeedInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	// Those of the stage were derived from another key.
	s.Exec(t, `DELETE FROM api_tokens`)
	console := s.Console(t)
	var printed struct {
		Dashboard struct {
			Email    string `json:"email"`
			Password string `json:"password"`
		} `json:"dashboard"`
	}
	if err := json.Unmarshal([]byte(console.Must(t, "seed", "--demo", "--json")), &printed); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		console.Must(t, "seed", "--demo")
	}
	address := "http://" + s.Address
	tab := browser.Open(t).Tab(t, browser.Viewport{})
	tab.Go(address + "/app/")
	tab.Fill("#email", printed.Dashboard.Email)
	tab.Fill("#password", printed.Dashboard.Password)
	tab.Follow("main form .btn.main")
	if got := tab.Text("h1"); got != "Overview" {
		t.Fatalf("the sign-in leads to %q, want Overview", got)
	}
	tab.Follow(`nav a[href$="/tokens/"]`)
	labels := strings.Fields(browser.Eval[string](tab,
		`[...document.querySelectorAll("main tbody th")].map((cell) => cell.firstChild.textContent).join(" ")`))
	slices.Sort(labels)
	if len(labels) == 0 || len(slices.Compact(slices.Clone(labels))) != len(labels) {
		t.Errorf("labels of the tokens = %v, want each once", labels)
	}
}
