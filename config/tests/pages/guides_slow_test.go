//go:build slow

package pages

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// chosenTab is the language that a group of tabs shows.
func chosenTab(tab *browser.Tab) string {
	return browser.Eval[string](tab, `document.querySelector(".tabs :checked").labels[0].textContent`)
}

func TestLanguageIsRememberedInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tab := browser.Open(t).Tab(t, browser.Viewport{})
	guide, operation := "http://"+s.Address+"/docs/guides/idempotency/", "http://"+s.Address+"/api/docs/start-run/"
	tab.Go(operation)
	if got := chosenTab(tab); got != "curl" {
		t.Errorf("first tab = %q, want curl", got)
	}
	tab.Click(`.tabs label[for="tabs-1-2"]`)
	for _, address := range []string{operation, guide, guide} {
		tab.Go(address)
		if got := chosenTab(tab); got != "Python" {
			t.Errorf("%s shows %q, want Python", address, got)
		}
		if shift := tab.LayoutShift(); shift > 0 {
			t.Errorf("%s: layout shift = %.4f, want 0", address, shift)
		}
	}
}

func TestCodeIsCopiedInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tab := browser.Open(t).Tab(t, browser.Viewport{})
	tab.Go("http://" + s.Address + "/docs/guides/tutorial/")
	if blocks, buttons := tab.Count(".code"), tab.Count(".code > .copy"); blocks == 0 || buttons != blocks {
		t.Errorf("buttons = %d for %d blocks of code, want one each", buttons, blocks)
	}
	tab.Click(".code > .copy")
	coretest.Eventually(t, func() bool { return tab.Text(".code > .copy") == "Copied" })

	without := browser.Open(t).Tab(t, browser.Viewport{ScriptOff: true})
	without.Go("http://" + s.Address + "/docs/guides/idempotency/")
	without.Await(".diagram svg")
	if n := without.Count(".copy"); n != 0 {
		t.Errorf("buttons without scripts = %d, want 0", n)
	}
	without.Click(`.tabs label[for="tabs-1-2"]`)
	without.Await(`.tab:nth-of-type(2)`)
}
