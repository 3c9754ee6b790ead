//go:build slow

package pages

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// maxLiveShift is how much of a page may move while it is updated.
const maxLiveShift = 0.01

// tab opens a page in a browser.
func (s *stage) tab(tb testing.TB, b *browser.Browser, width int64, path, session string) *browser.Tab {
	tb.Helper()
	tab := b.Tab(tb, browser.Viewport{Width: width, Height: 900})
	address := "http://" + s.Address
	tab.SetCookies(address, &http.Cookie{Name: "sv_session", Value: session})
	tab.Go(address + path)
	return tab
}

// title is that of the page.
func title(tab *browser.Tab) string { return browser.Eval[string](tab, "document.title") }

func TestRunIsUpdatedInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	s.Waits(t)
	viewer := s.Visitor(t, core.RoleExecutor)
	for _, width := range []int64{1280, 360} {
		id := s.Started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
		tab := s.tab(t, b, width, pageOfRun(id), viewer)
		tab.Await(".live .pill.ok")
		before := tab.LayoutShift()
		s.Work(t)
		tab.Await(".findings")
		tab.Await("#rerun")
		coretest.Eventually(t, func() bool { return strings.HasPrefix(title(tab), "✗ 8 · meter-readings") })
		coretest.Eventually(t, func() bool {
			return browser.Eval[string](tab, "document.getElementById('status').textContent") ==
				"Run of meter-readings finished: 8 errors"
		})
		if shift := tab.LayoutShift() - before; shift > maxLiveShift {
			t.Errorf("%d wide: layout shift = %.4f, want %.2f at most", width, shift, maxLiveShift)
		}
		if tab.Count("#run-actions details[open], #cancel") != 0 {
			t.Error("the run can still be canceled")
		}
	}
}

func TestRunsAreUpdatedInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	s.Waits(t)
	viewer := s.Visitor(t, core.RoleViewer)
	waiting := s.Started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	tab := s.tab(t, b, 1280, fixture.HarbourPages+"runs/", viewer)
	tab.Await(".live .pill.ok")
	before := tab.LayoutShift()
	s.Work(t)
	tab.Await("#run-" + waiting.String() + " .pill.fail")
	for range 3 {
		s.Started(t, s.Start(t, ""))
	}
	coretest.Eventually(t, func() bool { return strings.HasPrefix(title(tab), "(3) Runs") })
	if got := tab.Text("[data-live-new]"); got != "Show 3 new runs" {
		t.Errorf("the button says %q, want Show 3 new runs", got)
	}
	if rows := tab.Count("tbody tr"); rows != 1 {
		t.Errorf("rows = %d, want still 1", rows)
	}
	if shift := tab.LayoutShift() - before; shift > maxLiveShift {
		t.Errorf("layout shift = %.4f, want %.2f at most", shift, maxLiveShift)
	}
	tab.Follow("[data-live-new]")
	if rows := tab.Count("tbody tr"); rows != 4 {
		t.Errorf("rows = %d, want 4", rows)
	}

	tab.Await(".live .pill.ok")
	tab.Click(".live button")
	tab.Await(".live .pill.idle")
	if got := tab.Text(".live .pill"); !strings.Contains(got, "Paused") {
		t.Errorf("the state is %q, want Paused", got)
	}
	tab.Click(".live button")
	tab.Await(".live .pill.ok")
}
