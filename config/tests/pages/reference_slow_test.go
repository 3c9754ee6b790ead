//go:build slow

package pages

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestReferenceInABrowser has two members of an organization try the start of a run, with no more than a file.
func TestReferenceInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := filepath.Join(t.TempDir(), "readings.csv")
	if err := os.WriteFile(document, []byte(fixture.SampleText(t, "good/meter-readings.csv")), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	var runs []string
	for _, role := range []api.Role{api.RoleExecutor, api.RoleOwner} {
		tab := b.Tab(t, browser.Viewport{})
		address := "http://" + s.Address
		tab.SetCookies(address, &http.Cookie{Name: "sv_session", Value: s.Visitor(t, role)})
		tab.Go(address + "/api/docs/start-run/")
		tab.Follow(".try")
		tab.Fill("#path-id", "meter-readings")
		tab.Upload("#document", document)
		tab.Follow("form.launch .btn.main")
		if answer := tab.Text("#answer-text"); !strings.HasPrefix(answer, "201 Created") {
			t.Errorf("answer = %s, want 201", answer)
		}
		tab.Follow(`main a[href*="/runs/"]`)
		runs = append(runs, tab.Address())
	}
	if runs[0] == runs[1] {
		t.Errorf("both were led to %s, want a run of their own each", runs[0])
	}
	want := fixture.RowCounts{Keys: 2, Submissions: 2, Runs: 2, Jobs: 2, Audits: 2, Used: 2}
	if diff := cmp.Diff(want, s.RowCounts(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestEveryFormHasItsKeyInABrowser opens the form of a start again and again: each has a key of its own, no header that
// the visitor has not asked for, and is answered the same when its page is reloaded.
func TestEveryFormHasItsKeyInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := filepath.Join(t.TempDir(), "readings.csv")
	if err := os.WriteFile(document, []byte(fixture.SampleText(t, "good/meter-readings.csv")), 0o600); err != nil {
		t.Fatal(err)
	}
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
		tab := s.tab(t, b, 1280, tryPages+"start-run/", s.Visitor(t, role))
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
		if answer := tab.Text("#answer-text"); again != run || !strings.Contains(answer, "Idempotent-Replayed: true") {
			t.Errorf("reloaded, %s leads to %s, want to %s; answer %s", first, again, run, answer)
		}
	}
	if counts := s.RowCounts(t); counts.Runs != 2 || counts.Used != 2 {
		t.Errorf("rows = %+v, want a run of each visitor", counts)
	}
}
