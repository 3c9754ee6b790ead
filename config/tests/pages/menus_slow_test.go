//go:build slow

package pages

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

func TestMenusAndConfirmationsCloseInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "confirmed")).ID
	s.Work(t)
	b, executor := browser.Open(t), s.Visitor(t, api.RoleExecutor)
	for menu, page := range map[string]string{"details.account": fixture.HarbourPages, "#rerun": pageOfRun(run)} {
		tab := s.tab(t, b, 1280, page, executor)
		for name, leave := range map[string]func(){
			"Escape":          func() { tab.Press(browser.Escape) },
			"click elsewhere": func() { tab.Click("main h1") },
		} {
			tab.Click(menu + " summary")
			tab.Await(menu + "[open] form")
			leave()
			if tab.Count(menu+"[open]") != 0 {
				t.Errorf("%s is still open after: %s", menu, name)
			}
		}
	}
}
