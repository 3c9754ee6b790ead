//go:build slow

package pages

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

func TestMenusCloseInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tab := s.tab(t, browser.Open(t), 1280, fixture.HarbourPages, s.Visitor(t, core.RoleViewer))
	const menu = "details.account"
	for name, leave := range map[string]func(){
		"Escape":          func() { tab.Press(browser.Escape) },
		"click elsewhere": func() { tab.Click("main h1") },
	} {
		tab.Click(menu + " summary")
		tab.Await(menu + "[open] form")
		leave()
		if tab.Count(menu+"[open]") != 0 {
			t.Errorf("the menu is still open after: %s", name)
		}
	}
}
