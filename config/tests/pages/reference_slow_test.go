//go:build slow

package pages

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
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
	for _, role := range []core.Role{core.RoleExecutor, core.RoleOwner} {
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
