//go:build slow

package pages

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// longest is longer than any column.
const longest = "meter-readings-of-all-buildings-of-the-harbour-and-the-old-town-in-november-2026.csv"

func TestPhoneShowsDataFirstInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Started(t, s.named(t, "phone-1", longest, "good/meter-readings.csv"))
	tab := s.tab(t, browser.Open(t), 360, fixture.HarbourPages+"runs/", s.Visitor(t, api.RoleExecutor))
	top := browser.Eval[float64](tab, `document.querySelector("table.runs tbody tr").getBoundingClientRect().bottom`)
	if top > 740 {
		t.Errorf("the first run ends %g px down, want it on the first screen of 740", top)
	}
	if bar := browser.Eval[float64](tab, `document.querySelector("header").offsetHeight`); bar > 48 {
		t.Errorf("the bar is %g px high, want 48", bar)
	}
	const menu = "#menu:popover-open"
	for name, leave := range map[string]func(){
		"Escape":          func() { tab.Press(browser.Escape) },
		"click elsewhere": func() { tab.Click("header .brand img") },
	} {
		tab.Click(".topbar .btn")
		tab.Await(menu + " nav")
		if name == "Escape" {
			leave()
		} else {
			tab.Load(leave)
		}
		if tab.Count(menu) != 0 {
			t.Errorf("the menu is still open after: %s", name)
		}
	}
}

func TestCopyingIsSeenInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	page := fixture.HarbourPages + "workflows/meter-readings/"
	tab := s.tab(t, browser.Open(t), 1280, page, s.Visitor(t, api.RoleViewer))
	tab.Click("dl .copy")
	tab.Await(".copy.done")
	if got := tab.Text("dl .copy"); !strings.HasPrefix(got, "Copied ✓") {
		t.Errorf("the button says %q, want that it is copied", got)
	}
}

func TestConfirmationClosesInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "confirmed")).ID
	s.Work(t)
	tab := s.tab(t, browser.Open(t), 1280, pageOfRun(run), s.Visitor(t, api.RoleExecutor))
	tab.Click("#rerun summary")
	tab.Await("#rerun[open] form")
	tab.Press(browser.Escape)
	if tab.Count("#rerun[open]") != 0 {
		t.Error("the confirmation is still open after Escape")
	}
	tab.Click("#rerun summary")
	tab.Await("#rerun[open] form")
	tab.Click("h1")
	if tab.Count("#rerun[open]") != 0 {
		t.Error("the confirmation is still open after a click elsewhere")
	}
}

func TestSendingIsSeenInABrowser(t *testing.T) {
	t.Parallel()
	l := opens(t, browser.Viewport{})
	l.tab.Upload("#file", l.document)
	// The form stays on its page, as it does while the answer is on its way.
	browser.Eval[bool](l.tab, `addEventListener("submit", (event) => event.preventDefault()), true`)
	l.tab.Click("form.launch .btn.main")
	l.tab.Await("form.launch .btn[aria-busy]:disabled")
	if got := l.tab.Text("form.launch .btn.main"); got != "Sending…" {
		t.Errorf("the button says %q, want that it is sending", got)
	}
}
