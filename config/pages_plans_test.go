package config_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// historyRows is how many rows of each kind harbour has in 300 days: enough for an index to be cheaper than the table.
const historyRows = 10_000

// madeAt and idOfRow are SQL for the time of row n of a history that ends at $4, and for its id, which begins with it.
const (
	madeAt  = `$4::timestamptz - n * interval '300 days' / $2`
	idOfRow = `(lpad(to_hex((extract(epoch FROM ` + madeAt + `) * 1000)::bigint), 12, '0')
		|| '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid`
)

// multiplied is SQL that adds a history of rows like one: $1 is the run, $3 its organization.
func multiplied(table, where, changes string) string {
	return `INSERT INTO ` + table + ` SELECT made.* FROM ` + table + ` AS one, generate_series(1, $2::integer) AS n,
		LATERAL jsonb_populate_record(one, jsonb_build_object('id', ` + idOfRow + changes + `)) AS made
		WHERE one.org_id = $3 AND ` + where
}

// addHistory multiplies what harbour has of a run, its submission, its key and its audit record.
func (s *stage) addHistory(tb testing.TB) {
	tb.Helper()
	run := s.started(tb, s.start(tb, "history"))
	s.work(tb)
	now := time.Now()
	for _, statement := range []string{
		multiplied("submissions", `one.id = (SELECT submission_id FROM validation_runs WHERE id = $1::uuid)`, ""),
		multiplied("validation_runs", `one.id = $1::uuid`,
			`, 'submission_id', `+idOfRow+`, 'idempotency_key_id', NULL, 'created_at', `+madeAt),
		multiplied("idempotency_keys", `one.validation_run_id = $1::uuid`, `, 'key', 'history-' || n`),
		multiplied("audit_records", `one.action = 'run.start' AND one.target_id = $1::text`, ""),
	} {
		s.prepare(tb, statement, run.ID.String(), historyRows, s.Harbour.ID, now)
	}
	s.prepare(tb, `ANALYZE`)
}

// wholeTableReads is how often tables that grow were read from end to end. Connections tell it when they end at the
// latest, so all of them are ended first.
func wholeTableReads(tb testing.TB, s *stage) map[string]int64 {
	tb.Helper()
	s.db.Pool.Reset()
	conn, err := pgx.Connect(tb.Context(), s.db.Pool.Config().ConnString())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(tb.Context()) }() // Nothing is lost with it.
	dbtest.Eventually(tb, func() bool {
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
		if strings.HasPrefix(row.path, harbourPages) && !strings.Contains(row.path, "?") {
			s.visit(t, http.StatusOK, page(row.path, row.session))
		}
	}
	owner := s.visitor(t, core.RoleOwner)
	for _, query := range []string{
		"runs/?state=PENDING", "runs/?workflow=meter-readings", "runs/?since=2026-01-01T00:00:00Z",
		"keys/?state=dead", "keys/?state=expired", "keys/?key=history-7", "audit/?noun=token",
	} {
		s.visit(t, http.StatusOK, page(harbourPages+query, owner))
	}
	if diff := cmp.Diff(before, wholeTableReads(t, s)); diff != "" {
		t.Errorf("tables that were read from end to end (-before +after):\n%s", diff)
	}
}
