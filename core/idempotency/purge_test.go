package idempotency_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func insertKeys(tb testing.TB, database *db.DB, n int, expiresIn time.Duration, finished bool) {
	tb.Helper()
	coretest.InsertKeys(tb, database.Pool.Config().ConnString(), n, expiresIn, finished)
}

func countKeys(tb testing.TB, database *db.DB) int64 {
	tb.Helper()
	var n int64
	if err := database.Pool.QueryRow(tb.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&n); err != nil {
		tb.Fatalf("count keys: %v", err)
	}
	return n
}

func TestPurge(t *testing.T) {
	t.Parallel()

	t.Run("DeletesNothingBeforeItsTime", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
		coretest.StopClock(t, database, 0)
		insertKeys(t, database, 2, 0, true)
		insertKeys(t, database, 3, time.Millisecond, true)
		wantPurged(t, database, 10, 2)
		if got := countKeys(t, database); got != 3 {
			t.Errorf("keys left = %d, want the 3 that live a millisecond longer", got)
		}
	})

	t.Run("SharesManyKeysWithOtherPurges", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
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

	t.Run("SkipsLockedKeys", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
		insertKeys(t, database, 3, -time.Hour, true)
		tx, err := database.Pool.Begin(t.Context())
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		// A request takes over one of them.
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

	t.Run("NeedsABatch", func(t *testing.T) {
		t.Parallel()
		if _, err := idempotency.Purge(t.Context(), nil, 0); err == nil {
			t.Error("purged in batches of 0, want an error")
		}
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
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
