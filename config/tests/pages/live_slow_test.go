//go:build slow

package pages

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
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

// upload writes a file for a field of a form, and returns its path.
func upload(tb testing.TB, name, content string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// title is that of the page.
func title(tab *browser.Tab) string { return browser.Eval[string](tab, "document.title") }

func TestRunIsUpdatedInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	s.Waits(t)
	viewer := s.Visitor(t, api.RoleExecutor)
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
	viewer := s.Visitor(t, api.RoleViewer)
	waiting := s.Started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	tab := s.tab(t, b, 1280, fixture.HarbourPages+"runs/", viewer)
	tab.Await(".live .pill.ok")
	before := tab.LayoutShift()
	for range 3 {
		s.Started(t, s.Start(t, ""))
	}
	coretest.Eventually(t, func() bool { return strings.HasPrefix(title(tab), "(3) Runs") })
	// A row that is renewed later leaves the number of new runs where it is.
	s.Work(t)
	tab.Await("#run-" + waiting + " .pill.fail")
	if got := title(tab); !strings.HasPrefix(got, "(3) Runs") {
		t.Errorf("the title is %q, want (3) Runs", got)
	}
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

// TestManyWindowsInABrowser has more pages of one visitor open than a browser has connections for.
func TestManyWindowsInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	s.Waits(t)
	id := s.Started(t, s.Start(t, "")).ID
	first := s.tab(t, b, 1280, pageOfRun(id), s.Visitor(t, api.RoleViewer))
	tabs := []*browser.Tab{first}
	const windows = 8
	for len(tabs) < windows {
		tab := first.Beside(browser.Viewport{})
		tab.Go("http://" + s.Address + pageOfRun(id))
		tabs = append(tabs, tab)
	}
	for _, tab := range tabs {
		tab.Await(".live .pill.ok")
	}
	streams := 0
	for _, tab := range tabs {
		for _, request := range tab.Requests() {
			if request.Type == "EventSource" && !strings.Contains(request.URL, "once=true") {
				streams++
			}
		}
	}
	if streams == 0 || streams > 4 {
		t.Errorf("streams = %d, want 1 to 4", streams)
	}
	// Nothing waits for a connection, and every page hears of the end.
	first.Go("http://" + s.Address + fixture.HarbourPages + "runs/")
	s.Work(t)
	for _, tab := range tabs[1:] {
		tab.Await(".pill.ok")
		coretest.Eventually(t, func() bool { return strings.HasPrefix(title(tab), "✓") })
	}
}

func TestEndOfTheSessionIsShownInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	s := setup(t)
	s.Waits(t)
	session := s.Visitor(t, api.RoleViewer)
	id := s.Started(t, s.Start(t, "")).ID
	tab := s.tab(t, b, 1280, pageOfRun(id), session)
	tab.Await(".live .pill.ok")
	s.Exec(t, `DELETE FROM sessions WHERE digest = sha256($1::bytea)`, []byte(session))
	s.Work(t)
	tab.Await(".live .pill.warn")
	if got := tab.Text(".live .pill"); !strings.Contains(got, "Signed out") {
		t.Errorf("the state is %q, want Signed out", got)
	}
	if got := tab.Text(".live a"); got != "Sign in again" {
		t.Errorf("the link says %q, want Sign in again", got)
	}
	tab.Follow(".live a")
	tab.Await("#password")
}

// TestLeavingALivePageIsNoWarningInABrowser leaves a live page. Its stream is one of as many as a visitor may have, and
// its end makes room for another one.
func TestLeavingALivePageIsNoWarningInABrowser(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	// The service has ended by then, and nothing writes to the log any more.
	t.Cleanup(func() {
		if logged.Len() > 0 {
			t.Errorf("the service logs: %s", logged.String())
		}
	})
	s := &stage{Stage: fixture.SetupLogged(t, slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{
		Level: slog.LevelWarn,
	})))}
	s.Waits(t)
	run := s.Started(t, s.Start(t, "")).ID
	viewer := s.Visitor(t, api.RoleViewer)
	tab := s.tab(t, browser.Open(t), 1280, pageOfRun(run), viewer)
	tab.Await(".live .pill.ok")
	events := harbour("events/?runs="+uuid.Max.String(), viewer)
	const others = 7
	for range others {
		s.listen(t, events)
	}
	s.RefusedStream(t, events)
	tab.Go("http://" + s.Address + fixture.HarbourPages + "usage/")
	coretest.Eventually(t, func() bool {
		request, err := events.Request(t.Context(), s.Address)
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // It is about the status.
		return response.StatusCode == http.StatusOK
	})
}
