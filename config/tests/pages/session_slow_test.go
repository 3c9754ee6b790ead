//go:build slow

package pages

import (
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestEndedSessionLosesNothingInABrowser saves an edited workflow when the session has ended: by Back the text is
// still in the editor.
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
}
