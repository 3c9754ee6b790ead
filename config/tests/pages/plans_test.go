package pages

import (
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// historyRows is how many rows of each kind harbour has in 300 days: enough for an index to be cheaper than the table.
const historyRows = 10_000

// TestPagesReadNoTableFromEndToEnd leaves out the search and the rarer filters of runs, which look through the newest
// runs one by one.
func TestPagesReadNoTableFromEndToEnd(t *testing.T) {
	t.Parallel()
	s := setup(t)
	rows := s.pageRows(t)
	run := s.Started(t, s.Start(t, "history")).ID
	s.Work(t)
	s.Multiply(t, run, historyRows, time.Now(), fixture.History()...)
	s.Prepare(t, `ANALYZE`)
	before := s.TableReads(t)
	for _, row := range rows {
		if strings.HasPrefix(row.path, fixture.HarbourPages) && !strings.Contains(row.path, "?") {
			s.see(t, fixture.Page(row.path, row.session))
		}
	}
	owner := s.Visitor(t, api.RoleOwner)
	for _, query := range []string{
		"runs/?state=PENDING", "runs/?workflow=meter-readings", "runs/?since=2026-01-01T00:00:00Z",
		"keys/?state=dead", "keys/?state=expired", "keys/?key=history-7", "audit/?noun=token",
	} {
		s.see(t, harbour(query, owner))
	}
	after := s.TableReads(t)
	// An index is no cheaper than a table that is small here.
	for _, table := range []string{"submissions", "validation_runs", "idempotency_keys", "audit_records"} {
		if whole := after[table].Whole - before[table].Whole; whole > 0 {
			t.Errorf("%s was read from end to end %d times", table, whole)
		}
	}
}
