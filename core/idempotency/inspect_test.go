package idempotency_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// single opens a pool of one connection, so that what a query has read can be asked of its own session.
func single(tb testing.TB) *db.DB {
	tb.Helper()
	database, err := db.Open(tb.Context(), db.Config{
		URL: coretest.DatabaseURL(tb), MaxConns: 1,
		LockTimeout: 2 * time.Second, StatementTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	if err != nil {
		tb.Fatalf("open database: %v", err)
	}
	tb.Cleanup(func() {
		if err := database.Close(); err != nil {
			tb.Errorf("close database: %v", err)
		}
	})
	return database
}

// rowsRead counts the rows of keys and of their activity that were read until now.
func rowsRead(tb testing.TB, database *db.DB) int64 {
	tb.Helper()
	if _, err := database.Pool.Exec(tb.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
		tb.Fatalf("flush statistics: %v", err)
	}
	var n int64
	err := database.Pool.QueryRow(tb.Context(), `
		SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
		WHERE relname IN ('idempotency_keys', 'key_activity')`).Scan(&n)
	if err != nil {
		tb.Fatalf("read statistics: %v", err)
	}
	return n
}

// TestListReadsAPageAndNoMore holds the cost of a page where an organization has many keys. It is asked often,
// because the server may plan a prepared statement anew after some executions.
func TestListReadsAPageAndNoMore(t *testing.T) {
	t.Parallel()
	const keys, size, executions = 20_000, 50, 8
	database := single(t)
	insertKeys(t, database, keys, time.Hour, true)
	var org, middle uuid.UUID
	err := database.Pool.QueryRow(t.Context(), `
		SELECT org_id, id FROM idempotency_keys ORDER BY id OFFSET $1 LIMIT 1`, keys/2).Scan(&org, &middle)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO key_activity (org_id, key_id, replays) SELECT org_id, id, 1 FROM idempotency_keys`,
		`ANALYZE idempotency_keys, key_activity`,
	} {
		if _, err := database.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	inspector := idempotency.NewInspector(database, 20, nil)
	for name, cursor := range map[string]core.Cursor{
		"first": {Size: size}, "next": {ID: middle, Size: size}, "previous": {ID: middle, Backward: true, Size: size},
	} {
		before := rowsRead(t, database)
		for range executions {
			entries, err := inspector.List(t.Context(), org, idempotency.EntryFilter{}, cursor)
			if err != nil || len(entries) != size+1 {
				t.Fatalf("%s page = %d entries, %v, want %d", name, len(entries), err, size+1)
			}
		}
		// A page and one row more, of both tables.
		if got := (rowsRead(t, database) - before) / executions; got > 3*size {
			t.Errorf("%s page read %d rows, want about %d", name, got, 2*(size+1))
		}
	}
}
