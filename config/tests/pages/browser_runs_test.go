package pages

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// rowsOfRuns are the pages of runs in each state that a run can be in.
func (s *stage) rowsOfRuns(tb testing.TB, owner string) []pageRow {
	tb.Helper()
	const filename = "bad/meter-readings-of-a-station-with-a-very-long-name-that-has-no-place-to-break.csv"
	started := func(key, sample string) string {
		return s.Started(tb, s.named(tb, key, filename, sample)).ID
	}
	runs := map[string]string{
		"failed": started(strings.Repeat("k", 255), "bad/meter-readings.csv"),
		"passed": started("", "good/meter-readings.csv"), "warned": started("w", "warn/meter-readings.csv"),
		"truncated": s.Started(tb, s.manyFindings(tb)).ID,
	}
	s.Work(tb)
	for name, ending := range map[string]string{
		"error":    `result = 'ERROR', error = 'A worker died.', error_category = 'SYSTEM_ERROR'`,
		"canceled": `result = 'CANCELED', error = 'The run was canceled.'`,
		"forgotten": `result = 'FAIL', error_count = 4312, error_category = 'VALIDATION_FAILED',
			content_purged_at = now(), findings_purged_at = now()`,
	} {
		runs[name] = started("", "good/meter-readings.csv")
		s.Exec(tb, `UPDATE validation_runs SET state = 'COMPLETED', started_at = now(), ended_at = now(),
			sweep_after = NULL, `+ending+` WHERE id = $1`, runs[name])
	}
	runs["waiting"] = started("late", "good/meter-readings.csv")
	s.Exec(tb, `DELETE FROM staged_jobs`)
	rows := []pageRow{
		{
			name: "diff", path: s.changedWorkflow(tb), route: "/app/orgs/:org/workflows/:id/versions/:number/diff/",
			session: owner,
		},
		{
			name: "runs-filtered", path: fixture.HarbourPages + "runs/?result=TIMED_OUT", route: "/app/orgs/:org/runs/",
			session: owner,
		},
		{
			name: "runs-selection", path: fixture.HarbourPages + "runs/", route: "/app/orgs/:org/runs/", session: owner,
			then: func(tab *browser.Tab) {
				tab.Click(`[name="run"]`)
				tab.Follow(`#selected [value="cancel"]`)
			},
		},
	}
	for name, id := range map[string]string{"failed": runs["failed"], "warned": runs["warned"]} {
		rows = append(rows, pageRow{
			name: "comparison-" + name, path: pageOfRun(id) + "comparison/",
			route: "/app/orgs/:org/runs/:id/comparison/", session: owner,
		})
	}
	for _, name := range []string{"failed", "truncated", "forgotten"} {
		row := pageRow{
			name: "document-" + name, path: pageOfDocument(runs[name]), route: "/app/orgs/:org/runs/:id/document/",
			session: owner,
		}
		lines := row
		lines.name, lines.path = "document-lines-"+name, row.path+"?as=text&line=5"
		rows = append(rows, row, lines)
	}
	for name, id := range runs {
		rows = append(rows, pageRow{
			name: "run-" + name, path: pageOfRun(id), route: "/app/orgs/:org/runs/:id/", session: owner,
		})
	}
	return rows
}

// manyFindings is a start of a document in which the same is wrong again and again.
func (s *stage) manyFindings(tb testing.TB) call {
	tb.Helper()
	return s.Start(tb, "").WithBody("text/csv", "meter_id,read_at,kwh,quality,tariff\n"+
		strings.Repeat("M,2026-03-01T03:00:00Z,n/a,X,\"a rather long value\"\n", 300))
}
