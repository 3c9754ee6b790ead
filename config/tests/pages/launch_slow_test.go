//go:build slow

package pages

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// launching is an open launch form in a browser.
type launching struct {
	stage    *stage
	tab      *browser.Tab
	document string
}

// opens shows the launch page in a browser with a document at hand.
func opens(tb testing.TB, view browser.Viewport) *launching {
	tb.Helper()
	s := setup(tb)
	l := &launching{stage: s, tab: browser.Open(tb).Tab(tb, view)}
	l.document = upload(tb, "readings.csv", fixture.SampleText(tb, "bad/meter-readings.csv"))
	l.tab.SetCookies(l.address(), &http.Cookie{Name: "sv_session", Value: s.Visitor(tb, api.RoleExecutor)})
	l.tab.Go(l.address())
	return l
}

func (l *launching) address() string { return "http://" + l.stage.Address + fixture.LaunchMeters }

// showsTheRun waits until the tab shows a run, and checks that it is the only one and was charged once.
func (l *launching) showsTheRun(tb testing.TB) string {
	tb.Helper()
	l.tab.Await("main:not(:has(form.launch)) h1")
	to := l.tab.Address()
	if !strings.Contains(to, fixture.HarbourPages+"runs/") {
		tb.Fatalf("the tab shows %s, want a run", to)
	}
	if counts := l.stage.RowCounts(tb); counts.Runs != 1 || counts.Used != 1 || counts.Keys != 1 {
		tb.Errorf("rows = %+v, want one run, one charge and one key", counts)
	}
	return to
}

func TestLaunchInABrowser(t *testing.T) {
	t.Parallel()

	t.Run("DoubleClick", func(t *testing.T) {
		t.Parallel()
		l := opens(t, browser.Viewport{})
		l.tab.Upload("#file", l.document)
		l.tab.DoubleClick("form.launch .btn.main")
		l.showsTheRun(t)
	})
	t.Run("RefreshAndBack", func(t *testing.T) {
		t.Parallel()
		l := opens(t, browser.Viewport{})
		l.tab.Upload("#file", l.document)
		l.tab.Follow("form.launch .btn.main")
		first := l.showsTheRun(t)
		l.tab.Reload()
		l.showsTheRun(t)
		l.tab.Back()
		l.tab.Upload("#file", l.document)
		l.tab.Follow("form.launch .btn.main")
		if again := l.showsTheRun(t); again != first {
			t.Errorf("Back and sent again: %s, want %s", again, first)
		}
		if notice := l.tab.Text(".notice"); !strings.Contains(notice, "Nothing was started again.") {
			t.Errorf("notice = %q, want that nothing was started again", notice)
		}
	})
	t.Run("WithoutScripts", func(t *testing.T) {
		t.Parallel()
		l := opens(t, browser.Viewport{ScriptOff: true, Width: 360})
		l.tab.Upload("#file", l.document)
		l.tab.Follow("form.launch .btn.main")
		l.showsTheRun(t)
	})
	t.Run("AnotherFileAfterBack", func(t *testing.T) {
		t.Parallel()
		l := opens(t, browser.Viewport{})
		l.tab.Upload("#file", l.document)
		l.tab.Follow("form.launch .btn.main")
		l.showsTheRun(t)
		l.tab.Back()
		l.tab.Upload("#file", upload(t, "readings.csv", fixture.SampleText(t, "good/meter-readings.csv")))
		l.tab.Follow("form.launch .btn.main")
		if heading := l.tab.Text("h1"); heading != "This form has been used" {
			t.Errorf("heading = %q, want that the form has been used", heading)
		}
		l.tab.Follow("main .btn.main")
		if key := browser.Eval[string](l.tab, `document.querySelector("[name=key]").value`); key == "" {
			t.Error("the new form has no key")
		}
	})
	t.Run("FileOfATypeThatNoBrowserKnows", func(t *testing.T) {
		t.Parallel()
		l := opens(t, browser.Viewport{})
		l.stage.AddTyped(t, "models", "text/plain")
		l.tab.Go("http://" + l.stage.Address + fixture.HarbourPages + "workflows/models/launch/")
		model := upload(t, "office.idf", "Version,9.4;\n")
		l.tab.Upload("#file", model)
		l.tab.Follow("form.launch .btn.main")
		l.showsTheRun(t)
		if got := coretest.One[string](t, l.stage.DB, `SELECT media_type FROM submissions`); got != "text/plain" {
			t.Errorf("media type = %s, want text/plain", got)
		}
		// The API is sent what the browser declares, as by curl -F.
		l.tab.Go("http://" + l.stage.Address + tryPages + "start-run/")
		l.tab.Fill("#path-id", "models")
		l.tab.Upload("#document", model)
		l.tab.Follow("form.launch .btn.main")
		if answer := l.tab.Text("#answer-text"); !strings.HasPrefix(answer, "201 Created") {
			t.Errorf("answer = %s, want 201", answer)
		}
	})
	t.Run("TooLarge", func(t *testing.T) {
		t.Parallel()
		// A script would refuse the file before it is sent.
		l := opens(t, browser.Viewport{ScriptOff: true})
		large := strings.Repeat("\x00", int(2*l.stage.Settings.MaxBodyBytes))
		l.tab.Upload("#file", upload(t, "readings.csv", large))
		l.tab.Follow("form.launch .btn.main")
		if problem := l.tab.Text(".problem"); !strings.Contains(problem, "larger than") {
			t.Errorf("problem = %q, want that the document is too large", problem)
		}
	})
}
