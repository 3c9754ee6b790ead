//go:build slow

package pages

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestEndedSessionLosesNothingInABrowser saves an edited workflow when the session has ended: by Back the text is
// still in the editor, and from the page of the error it is saved after another sign-in.
func TestEndedSessionLosesNothingInABrowser(t *testing.T) {
	t.Parallel()
	const address = workflowsPage + "legacy-import/edit/"
	s := setup(t)
	owner := s.WithPassword(t)
	text := strings.ReplaceAll(written("legacy-import", "id"), "\r\n", "\n")
	tab := s.tab(t, browser.Open(t), 1280, address, s.Session(t, owner))
	tab.Await("#text")
	browser.Eval[string](tab, "document.getElementById('text').value = "+strconv.Quote(text))
	s.Exec(t, `DELETE FROM sessions`)
	tab.Follow("main form button.main")
	tab.Await("main a[target=_blank]")
	tab.Back()
	tab.Await("#text")
	if got := browser.Eval[string](tab, "document.getElementById('text').value"); got != text {
		t.Errorf("after Back the editor has %q, want %q", got, text)
	}
	tab.Follow("main form button.main")
	tab.Await("main a[target=_blank]")
	// Tabs share their cookies, so this is a sign-in in another one.
	tab.SetCookies("http://"+s.Address, &http.Cookie{Name: "sv_session", Value: s.Session(t, owner)})
	tab.Follow("main form button.main")
	tab.Await(".notice")
	if got := coretest.One[int](t, s.DB,
		`SELECT latest_version FROM workflows WHERE org_id = $1 AND slug = 'legacy-import'`, s.Harbour.ID); got != 2 {
		t.Errorf("latest version = %d, want 2", got)
	}
}
