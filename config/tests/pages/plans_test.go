package pages

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// historyRows is how many rows of each kind harbour has in 300 days: enough for an index to be cheaper than the table.
const historyRows = 10_000

// addHistory multiplies what harbour has of a run, its submission, its key and its audit record.
func (s *stage) addHistory(tb testing.TB) {
	tb.Helper()
	run := s.Started(tb, s.Start(tb, "history"))
	s.Work(tb)
	now := time.Now()
	for _, statement := range []string{
		fixture.Multiplied("submissions", `one.id = (SELECT submission_id FROM validation_runs WHERE id = $1::uuid)`,
			""),
		fixture.Multiplied("validation_runs", `one.id = $1::uuid`,
			`, 'submission_id', `+fixture.IDOfRow+`, 'idempotency_key_id', NULL, 'created_at', `+fixture.MadeAt),
		fixture.Multiplied("idempotency_keys", `one.validation_run_id = $1::uuid`, `, 'key', 'history-' || n`),
		fixture.Multiplied("audit_records", `one.action = 'run.start' AND one.target_id = $1::text`, ""),
	} {
		s.Prepare(tb, statement, run.ID, historyRows, s.Harbour.ID, now)
	}
	s.Prepare(tb, `ANALYZE`)
}

// wholeTableReads is how often tables that grow were read from end to end. Connections tell it when they end at the
// latest, so all of them are ended first.
func wholeTableReads(tb testing.TB, s *stage) map[string]int64 {
	tb.Helper()
	s.DB.Pool.Reset()
	conn, err := pgx.Connect(tb.Context(), s.DB.Pool.Config().ConnString())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(tb.Context()) }() // Nothing is lost with it.
	coretest.Eventually(tb, func() bool {
		var others int
		err := conn.QueryRow(tb.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).
			Scan(&others)
		return err == nil && others == 0
	})
	rows, err := conn.Query(tb.Context(), `
		SELECT relname::text, seq_scan FROM pg_stat_user_tables
		WHERE relname IN ('submissions', 'validation_runs', 'idempotency_keys', 'audit_records')`)
	if err != nil {
		tb.Fatal(err)
	}
	reads := make(map[string]int64)
	var table string
	var scans int64
	if _, err := pgx.ForEachRow(rows, []any{&table, &scans}, func() error {
		reads[table] = scans
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return reads
}

// TestPagesReadNoTableFromEndToEnd leaves out the search and the rarer filters of runs, which look through the newest
// runs one by one.
func TestPagesReadNoTableFromEndToEnd(t *testing.T) {
	t.Parallel()
	s := setup(t)
	rows := s.pageRows(t)
	s.addHistory(t)
	before := wholeTableReads(t, s)
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
	if diff := cmp.Diff(before, wholeTableReads(t, s)); diff != "" {
		t.Errorf("tables that were read from end to end (-before +after):\n%s", diff)
	}
}
