//go:build slow

package pages

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// The page of a key stays open during a storm of retries, and draws what happens.
func TestKeyPageDuringARetryStormInABrowser(t *testing.T) {
	t.Parallel()
	const replays, mismatches = 60, 5
	b := browser.Open(t)
	s := setup(t)
	start := s.Start(t, "stormy")
	run := s.Started(t, start)
	s.FlushRequests(t)
	address := fixture.HarbourPages + "keys/" + s.Entry(t, "stormy").ID + "/"
	viewer := s.Visitor(t, api.RoleViewer)
	wide, phone := s.tab(t, b, 1280, address, viewer), s.tab(t, b, 360, address, viewer)
	for _, tab := range []*browser.Tab{wide, phone} {
		tab.Await(".live .pill.ok")
		if lanes := tab.Count("ol.lanes > li:not(.event, .more)"); lanes != 1 {
			t.Errorf("lanes before the storm = %d, want 1", lanes)
		}
	}
	before := wide.LayoutShift()
	var storm sync.WaitGroup
	for i := range replays + mismatches {
		storm.Go(func() {
			c := start
			if i >= replays {
				c = start.WithBody("text/csv", fmt.Sprint("other ", i))
			}
			_, _ = s.Send(t.Context(), c) // What became of it is on the page.
		})
	}
	storm.Wait()
	s.Flush(t)
	s.FlushRequests(t)
	counts := fmt.Sprintf("%d 1 %d %d", 1+replays+mismatches, replays, mismatches)
	for _, tab := range []*browser.Tab{wide, phone} {
		// The lanes are the first 20 and the last 30 of 66. The counts are renewed apart from them.
		coretest.Eventually(t, func() bool {
			shown := browser.Eval[string](tab,
				`[...document.querySelectorAll("#outcomes b")].map((b) => b.textContent).join(" ")`)
			return shown == counts && tab.Count("ol.lanes > li:not(.event, .more)") == 50
		})
		text := browser.Eval[string](tab, `document.getElementById("picture").textContent`)
		if !strings.Contains(text, "16 more requests are not listed here.") ||
			!strings.Contains(text, "other document") {
			t.Errorf("the picture does not tell of the 16 others and of what differs:\n%s", text)
		}
		if n := tab.Count(`a[href$="runs/` + run.ID + `/"]`); n == 0 {
			t.Error("the picture does not lead to the run")
		}
		if wider := browser.Eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"); wider {
			t.Error("the page is wider than its window")
		}
	}
	times := browser.Eval[[]string](wide, `[...document.querySelectorAll("ol.lanes > li:not(.event, .more) time")]
		.map((time) => time.dateTime)`)
	if !slices.IsSorted(times) || times[0] == times[len(times)-1] {
		t.Errorf("the times of the lanes are %v, want them in order", times)
	}
	if shift := wide.LayoutShift() - before; shift > maxLiveShift {
		t.Errorf("layout shift = %.4f, want %.2f at most", shift, maxLiveShift)
	}
	if complaints := wide.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %v", complaints)
	}
}

// A storm of retries is two lines. Opened by the keyboard, it stays open and keeps the focus while the page is renewed.
func TestStormIsFoldedInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	start := s.Start(t, "folded")
	for range 6 {
		s.Started(t, start)
	}
	s.Flush(t)
	s.FlushRequests(t)
	tab := s.tab(t, browser.Open(t), 1280, fixture.HarbourPages+"keys/"+s.Entry(t, "folded").ID+"/",
		s.Visitor(t, api.RoleViewer))
	if got := tab.Text(".more summary"); !strings.Contains(got, "Replayed 4 more times") {
		t.Errorf("the fold says %q, want the 4 replays after the first one", got)
	}
	browser.Eval[bool](tab, `(document.querySelector(".more summary").focus(), true)`)
	tab.Press(browser.Enter)
	tab.Await(".more li.replay")
	s.Started(t, start)
	s.Flush(t)
	s.FlushRequests(t)
	coretest.Eventually(t, func() bool {
		return strings.Contains(browser.Eval[string](tab, `document.querySelector(".more summary").textContent`),
			"Replayed 5 more times")
	})
	if !browser.Eval[bool](tab, `document.activeElement.matches(".more details[open] > summary")`) {
		t.Error("the fold was closed, or has lost the focus")
	}
	outcomes := browser.Eval[string](tab, `[...document.querySelectorAll(".outcomes li")]
		.map((li) => li.querySelector(".lab").textContent + " " + li.querySelector("b").textContent).join(", ")`)
	if want := "Requests 7, Runs started 1, Replayed 6, Refused 0"; outcomes != want {
		t.Errorf("outcomes = %q, want %q", outcomes, want)
	}
}
