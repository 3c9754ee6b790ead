//go:build slow

package pages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestReferenceInABrowser has two visitors try the start of a run out, with no more than a token and a file.
func TestReferenceInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	document := filepath.Join(t.TempDir(), "readings.csv")
	if err := os.WriteFile(document, []byte(fixture.SampleText(t, "good/meter-readings.csv")), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	for range 2 {
		tab := b.Tab(t, browser.Viewport{})
		tab.Go("http://" + s.Address + "/api/docs/#/Runs/startRun")
		tab.Await(".opblock.is-open .try-out__btn")
		tab.Click(".btn.authorize")
		tab.Fill(".auth-container input", s.Harbour.Tokens.Executor)
		tab.Click(".auth-btn-wrapper .btn.authorize")
		tab.Click(".auth-btn-wrapper .btn-done")
		tab.Click(".opblock.is-open .try-out__btn")
		tab.Await(".opblock.is-open .parameters input:enabled")
		tab.Upload(`.opblock.is-open input[type="file"]`, document)
		tab.Click(".opblock.is-open .execute")
		tab.Await(".opblock.is-open .live-responses-table .response-col_status")
	}
	want := fixture.RowCounts{Keys: 2, Submissions: 2, Runs: 2, Jobs: 2, Audits: 2, Used: 2}
	if diff := cmp.Diff(want, s.RowCounts(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
