//go:build slow

package pages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestEveryFormHasItsKeyInABrowser has two members of an organization follow the reference to the form of a start,
// again and again: each form has a key of its own, no header that the visitor has not asked for, and is answered the
// same when its page is reloaded.
func TestEveryFormHasItsKeyInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := upload(t, "readings.csv", fixture.SampleText(t, "good/meter-readings.csv"))
	b := browser.Open(t)
	seen := map[string]bool{}
	fresh := func(tab *browser.Tab) {
		t.Helper()
		field := func(id string) string {
			return browser.Eval[string](tab, `document.getElementById("`+id+`")?.value ?? ""`)
		}
		key := field("header-Idempotency-Key")
		if _, err := uuid.Parse(key); err != nil || seen[key] {
			t.Errorf("the form has the key %q, want a new one", key)
		}
		seen[key] = true
		for _, id := range []string{"header-Request-Id", "header-Prefer", "query-version"} {
			if value := field(id); value != "" {
				t.Errorf("%s = %q, want nothing", id, value)
			}
		}
	}
	for _, role := range []api.Role{api.RoleExecutor, api.RoleOwner} {
		tab := s.tab(t, b, 1280, "/api/docs/start-run/", s.Visitor(t, role))
		tab.Follow(".try")
		fresh(tab)
		tab.Fill("#path-id", "meter-readings")
		tab.Upload("#document", document)
		tab.Follow("form.launch .btn.main")
		first := tab.Text(`main a[href*="/runs/"]`)
		run := browser.Eval[string](tab, `document.querySelector('main a[href*="/runs/"]').href`)
		fresh(tab)
		tab.Reload()
		tab.Await("#answer-text")
		again := browser.Eval[string](tab, `document.querySelector('main a[href*="/runs/"]').href`)
		answer := tab.Text("#answer-text")
		if again != run || !strings.HasPrefix(answer, "201 Created") ||
			!strings.Contains(answer, "Idempotent-Replayed: true") {
			t.Errorf("reloaded, %s leads to %s, want to %s; answer %s", first, again, run, answer)
		}
	}
	want := fixture.RowCounts{Keys: 2, Submissions: 2, Runs: 2, Jobs: 2, Audits: 2, Used: 2}
	if diff := cmp.Diff(want, s.RowCounts(t)); diff != "" {
		t.Errorf("rows, a run of each visitor (-want +got):\n%s", diff)
	}
}
