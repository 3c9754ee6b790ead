//go:build slow

package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// crampedScript lists what a column has no room for: its heading, or a pill.
const crampedScript = `[
	...[...document.querySelectorAll("main thead th")].filter((th) => th.scrollWidth > th.clientWidth),
	...[...document.querySelectorAll("main td .pill, main tbody th .pill")].filter((pill) =>
		pill.getBoundingClientRect().right > pill.closest("td, th").getBoundingClientRect().right + 1),
].map((e) => e.textContent.trim())`

// seededLists fills the lists with what takes the most room.
func (s *stage) seededLists(tb testing.TB) {
	tb.Helper()
	s.Started(tb, s.named(tb, strings.Repeat("k", 255), longest+longest[4:], "warn/meter-readings.csv"))
	s.Started(tb, s.Start(tb, "again"))
	s.Started(tb, s.Start(tb, "again"))
	s.Refused(tb, api.CodeKeyReused, s.Start(tb, "again").WithBody("text/csv", "other"))
	s.strandedKey(tb, "stranded")
	s.Work(tb)
	s.Flush(tb)
	s.FlushRequests(tb)
}

func TestColumnsHaveRoomInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	s.seededLists(t)
	owner := s.Visitor(t, api.RoleOwner)
	for path, tallest := range map[string]float64{
		"runs/": 44, "keys/": 44, "requests/": 44, "audit/?noun=everything": 104, "tokens/": 90, "": 0,
	} {
		for _, width := range []int64{1024, 1280, 1920} {
			tab := s.tab(t, b, width, fixture.HarbourPages+path, owner)
			if path == "runs/" {
				// The longest result is a fault of the platform, which has none here.
				browser.Eval[bool](tab,
					`document.querySelector("tbody .pill").lastChild.data = " Platform error"; true`)
			}
			if cramped := browser.Eval[[]string](tab, crampedScript); len(cramped) > 0 {
				t.Errorf("%s, %d wide: no room for %q", path, width, cramped)
			}
			rows := browser.Eval[[]float64](tab, `[...document.querySelectorAll(
				"table:is(.runs, .keys, .requests, .audit) tbody tr")].map((tr) => tr.getBoundingClientRect().height)`)
			if tallest > 0 && width >= 1280 && len(rows) > 0 && slices.Max(rows) > tallest {
				t.Errorf("%s, %d wide: a row is %g px high, want %g at most", path, width, slices.Max(rows), tallest)
			}
			if path == "runs/" && width == 1280 && slices.Min(rows) < 36 {
				t.Errorf("%s: a row is %g px high, want 36 at least", path, slices.Min(rows))
			}
			if !browser.Eval[bool](tab, `document.fonts.check("14px Inter") && document.fonts.size === 2`) {
				t.Errorf("%s, %d wide: the page has no font of its own", path, width)
			}
			tab.Close()
		}
	}
}

// TestChartsFillTheirCardsInABrowser compares the height of a card with that of what is in it, where the durations
// beside a chart take the most room.
func TestChartsFillTheirCardsInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	s.seededLists(t)
	s.Exec(t, `UPDATE start_hours SET took[array_length(took, 1)] = 100`)
	s.Exec(t, `UPDATE validation_runs SET created_at = ended_at - interval '59 minutes' WHERE ended_at IS NOT NULL`)
	viewer := s.Visitor(t, api.RoleViewer)
	for _, path := range []string{"", "keys/", "usage/", "workflows/meter-readings/"} {
		for _, width := range []int64{1280, 1920} {
			tab := s.tab(t, b, width, fixture.HarbourPages+path, viewer)
			blank := browser.Eval[[]float64](tab, `[...document.querySelectorAll(
				".card:has(svg.chart)")].map((card) => {
				const last = card.lastElementChild.getBoundingClientRect(), box = card.getBoundingClientRect();
				const wide = card.querySelector("svg.chart").getBoundingClientRect().width / box.width;
				return Math.max(box.bottom - last.bottom, wide < 0.85 ? 1000 : 0);
			})`)
			if len(blank) == 0 || slices.Max(blank) > 40 {
				t.Errorf("%s, %d wide: blank below charts = %v px, want 40 at most", path, width, blank)
			}
			tab.Close()
		}
	}
}

// A row with too few fields is at fault as a whole, and not its first cell.
func TestWholeRowsAreMarkedInABrowser(t *testing.T) {
	t.Parallel()
	const row = "MTR-1002,2026-03-01T08:00:00Z,69.57,A"
	s := setup(t)
	id := s.Started(t, s.named(t, "", "bad.csv", "bad/meter-readings.csv")).ID
	s.Work(t)
	viewer := s.Visitor(t, api.RoleViewer)
	tab := s.tab(t, browser.Open(t), 1280, pageOfRun(id), viewer)
	marks := browser.Eval[[]string](tab, `[...document.querySelectorAll(".findings mark")].map((m) => m.textContent)`)
	if !slices.Contains(marks, row) || !slices.Contains(marks, "n/a") {
		t.Errorf("marked = %q, want the whole row %q", marks, row)
	}
	tab.Go("http://" + s.Address + pageOfDocument(id))
	plain, marked := browser.Eval[string](tab, `getComputedStyle(document.querySelector("#L21 td")).backgroundColor`),
		browser.Eval[[]string](tab, `[...document.querySelectorAll("#L22 > *")].slice(0, 5).map((cell) =>
			getComputedStyle(cell).backgroundColor)`)
	if slices.Contains(marked, plain) {
		t.Errorf("colors of row 22 = %q, want all others than %s", marked, plain)
	}
}
