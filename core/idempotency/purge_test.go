package idempotency_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// insertKeys inserts that many keys which expire after the given time and are finished or not.
func insertKeys(tb testing.TB, database *db.DB, n int, expiresIn time.Duration, finished bool) {
	tb.Helper()
	coretest.Prepare(tb, database.Pool.Config().ConnString(), `
		WITH digest AS (SELECT decode(repeat('00', 32), 'hex') AS zeros)
		INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
			request_hash, target_digest, content_digest, options_digest, request_id,
			response_status, response_headers, response_body, recovery_point, created_at, expires_at)
		SELECT $1, gen_random_uuid(), gen_random_uuid()::text, 'tests', 'POST', '/', 1,
			zeros, zeros AS target, zeros AS content, zeros AS options, '',
			CASE WHEN $4 THEN 201 END, CASE WHEN $4 THEN '{}'::json END, CASE WHEN $4 THEN zeros END,
			CASE WHEN $4 THEN 'finished' ELSE 'started' END,
			now() - interval '2 days', now() + make_interval(secs => $3)
		FROM digest, generate_series(1, $2)`,
		uuid.New(), n, expiresIn.Seconds(), finished)
}

func countKeys(tb testing.TB, database *db.DB) int64 {
	tb.Helper()
	var n int64
	if err := database.Pool.QueryRow(tb.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&n); err != nil {
		tb.Fatalf("count keys: %v", err)
	}
	return n
}

func openForPurge(tb testing.TB) *db.DB {
	tb.Helper()
	database, err := db.Open(tb.Context(), db.Config{
		URL: coretest.DatabaseURL(tb), MaxConns: 8,
		LockTimeout: 2 * time.Second, StatementTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
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

func TestPurge(t *testing.T) {
	t.Parallel()

	t.Run("DeletesExpiredFinishedKeysOnly", func(t *testing.T) {
		t.Parallel()
		database := openForPurge(t)
		insertKeys(t, database, 5, -time.Hour, true)
		insertKeys(t, database, 4, -time.Hour, false)
		insertKeys(t, database, 3, time.Hour, true)
		insertKeys(t, database, 2, time.Hour, false)
		wantExpired(t, database, 5)
		wantPurged(t, database, 2, 5)
		wantExpired(t, database, 0)
		if got := countKeys(t, database); got != 9 {
			t.Errorf("keys left = %d, want 9", got)
		}
	})

	t.Run("SharesManyKeysWithOthers", func(t *testing.T) {
		t.Parallel()
		database := openForPurge(t)
		insertKeys(t, database, 10_000, -time.Hour, true)
		// More than a batch of these comes first in the order of expiry.
		insertKeys(t, database, 600, -24*time.Hour, false)
		var total atomic.Int64
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				n, err := idempotency.Purge(t.Context(), database, 500)
				if err != nil {
					t.Errorf("purge: %v", err)
				}
				total.Add(n)
			})
		}
		group.Wait()
		if got := total.Load(); got != 10_000 {
			t.Errorf("purged = %d in all, want each of 10000 once", got)
		}
		if got := countKeys(t, database); got != 600 {
			t.Errorf("keys left = %d, want the 600 unfinished", got)
		}
	})

	t.Run("PassesOverLockedKeys", func(t *testing.T) {
		t.Parallel()
		database := openForPurge(t)
		insertKeys(t, database, 3, -time.Hour, true)
		tx, err := database.Pool.Begin(t.Context())
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		// A request takes one of them over.
		if _, err := tx.Exec(t.Context(), `
			UPDATE idempotency_keys SET expires_at = now() + interval '1 day'
			WHERE id = (SELECT id FROM idempotency_keys LIMIT 1)`); err != nil {
			t.Fatalf("take over: %v", err)
		}
		wantPurged(t, database, 10, 2)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatalf("commit: %v", err)
		}
		wantPurged(t, database, 10, 0)
	})

	t.Run("DeletesWhatWasCountedForKeysThatAreGone", func(t *testing.T) {
		t.Parallel()
		database := openForPurge(t)
		insertKeys(t, database, 5, -time.Hour, true)
		insertKeys(t, database, 4, time.Hour, true)
		for _, statement := range []string{
			"INSERT INTO key_activity (org_id, key_id, replays) SELECT org_id, id, 1 FROM idempotency_keys",
			`INSERT INTO key_events (org_id, key_id, was, point, epoch)
			SELECT org_id, id, 'started', 'finished', n FROM idempotency_keys, generate_series(1, 3) AS n`,
		} {
			if _, err := database.Pool.Exec(t.Context(), statement); err != nil {
				t.Fatalf("add activity: %v", err)
			}
		}
		// Pages are smaller than what there is.
		wantPurged(t, database, 2, 5)
		for query, want := range map[string]int{
			"SELECT count(*) FROM key_activity": 4, "SELECT count(*) FROM key_events": 12,
			"SELECT count(DISTINCT key_id) FROM key_events": 4,
		} {
			var got int
			if err := database.Pool.QueryRow(t.Context(), query).Scan(&got); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			if got != want {
				t.Errorf("%s = %d, want %d", query, got, want)
			}
		}
	})

	t.Run("DeletesHoursWhoseTimeIsOver", func(t *testing.T) {
		t.Parallel()
		database := openForPurge(t)
		if _, err := database.Pool.Exec(t.Context(), `
			INSERT INTO start_hours (org_id, hour, took)
			SELECT $1, date_trunc('hour', now(), 'UTC') - ago * interval '1 hour', array_fill(0, ARRAY[14])
			FROM generate_series(0, 300) AS ago`, uuid.New()); err != nil {
			t.Fatalf("add hours: %v", err)
		}
		wantPurged(t, database, 10, 0)
		var kept, old int
		if err := database.Pool.QueryRow(t.Context(), `
			SELECT count(*), count(*) FILTER (WHERE hour <= now() - interval '8 days') FROM start_hours`).
			Scan(&kept, &old); err != nil {
			t.Fatalf("count hours: %v", err)
		}
		if kept != 8*24 || old != 0 {
			t.Errorf("hours = %d, of them %d old, want those of 8 days", kept, old)
		}
	})

	t.Run("NeedsABatch", func(t *testing.T) {
		t.Parallel()
		if _, err := idempotency.Purge(t.Context(), nil, 0); err == nil {
			t.Error("purged in batches of 0, want an error")
		}
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		database := openForPurge(t)
		insertKeys(t, database, 1, -time.Hour, true)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := idempotency.Purge(ctx, database, 10); n != 0 || err == nil {
			t.Errorf("purge = %d, %v, want 0 and an error", n, err)
		}
	})
}

func wantPurged(tb testing.TB, database *db.DB, batch int, want int64) {
	tb.Helper()
	got, err := idempotency.Purge(tb.Context(), database, batch)
	if err != nil {
		tb.Fatalf("purge: %v", err)
	}
	if got != want {
		tb.Errorf("purged = %d, want %d", got, want)
	}
}

func wantExpired(tb testing.TB, database *db.DB, want int64) {
	tb.Helper()
	got, err := idempotency.CountExpired(tb.Context(), database)
	if err != nil {
		tb.Fatalf("count expired: %v", err)
	}
	if got != want {
		tb.Errorf("expired = %d, want %d", got, want)
	}
}
