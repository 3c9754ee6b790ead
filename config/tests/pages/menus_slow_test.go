//go:build slow

package pages

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

func TestMenusCloseInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tab := s.tab(t, browser.Open(t), 1280, fixture.HarbourPages, s.Visitor(t, api.RoleViewer))
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

// TestAccountLeadsBackInABrowser goes to the pages that belong to no organization, and back by the navigation.
func TestAccountLeadsBackInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tab := s.tab(t, browser.Open(t), 1280, fixture.HarbourPages+"keys/", s.operator(t))
	for name, away := range map[string]func(){
		"account": func() {
			tab.Click("details.account summary")
			tab.Follow(`details.account a[href="/app/account/"]`)
		},
		"operations": func() { tab.Follow(`nav a[href="` + operationsPage + `"]`) },
	} {
		away()
		if tab.Count(`#search`) != 1 {
			t.Errorf("%s has no search", name)
		}
		tab.Follow(`nav a[href="` + fixture.HarbourPages + `runs/"]`)
		if got := tab.Text("h1"); got != "Runs" {
			t.Errorf("%s leads back to %q, want Runs", name, got)
		}
	}
}
