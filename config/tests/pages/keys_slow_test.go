//go:build slow

package pages

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestRowsOfKeysAreLowInABrowser lists the longest key that there can be, in a row as high as any other.
func TestRowsOfKeysAreLowInABrowser(t *testing.T) {
	t.Parallel()
	const maxHeight = 60
	s := setup(t)
	s.Started(t, s.Start(t, strings.Repeat("k", 255)))
	s.Started(t, s.Start(t, "short"))
	tab := s.tab(t, browser.Open(t), 1280, fixture.HarbourPages+"keys/", s.Visitor(t, core.RoleViewer))
	tab.Await("a.clip")
	highest := browser.Eval[float64](tab, `Math.max(...[...document.querySelectorAll("tr:has(a.clip)")]
		.map((row) => row.getBoundingClientRect().height))`)
	if highest > maxHeight {
		t.Errorf("the highest row has %.0f pixels, want %d at most", highest, maxHeight)
	}
}
