//go:build slow

package pages

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// wantProblem demands that the box of an error says a sentence once, leads to help, shows no code, and has the focus.
func wantProblem(tb testing.TB, tab *browser.Tab, sentence string) {
	tb.Helper()
	tab.Await(".problem")
	text := tab.Text(".problem")
	helps := strings.Contains(text, "Help with this error") && !strings.Contains(text, "_")
	if strings.Count(text, sentence) != 1 || !helps {
		tb.Errorf("the problem is %q, want %q once and the way to help", text, sentence)
	}
	if !browser.Eval[bool](tab, `document.activeElement.matches(".problem")`) {
		tb.Error("the problem has no focus")
	}
}

func TestProblemsAreSaidOnceInABrowser(t *testing.T) {
	t.Parallel()
	l := opens(t, browser.Viewport{})
	l.tab.Follow("form.launch .btn.main")
	wantProblem(t, l.tab, "Choose a file, or paste a text.")
	l.tab.Upload("#file", l.document)
	l.tab.Follow("form.launch .btn.main")
	l.showsTheRun(t)

	tab := browser.Open(t).Tab(t, browser.Viewport{})
	tab.Go("http://" + l.stage.Address + "/app/sign-in/")
	tab.Fill("#email", "nobody@harbour-energy.example")
	tab.Fill("#password", "wrong")
	tab.Follow("main form .btn.main")
	wantProblem(t, tab, "is wrong.")
}
