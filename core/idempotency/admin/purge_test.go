package admin_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

func wantPurged(tb testing.TB, database *db.DB, batch int, want int64) {
	tb.Helper()
	got, err := admin.Purge(tb.Context(), database, batch)
	if err != nil {
		tb.Fatalf("purge: %v", err)
	}
	if got != want {
		tb.Errorf("purged = %d, want %d", got, want)
	}
}

func wantCount(tb testing.TB, database *db.DB, query string, want int) {
	tb.Helper()
	var got int
	if err := database.Pool.QueryRow(tb.Context(), query).Scan(&got); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	if got != want {
		tb.Errorf("%s = %d, want %d", query, got, want)
	}
}

func TestPurgeDeletesActivity(t *testing.T) {
	t.Parallel()

	t.Run("OfKeysThatAreGone", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
		insertKeys(t, database, 5, -time.Hour)
		insertKeys(t, database, 4, time.Hour)
		mustExec(t, database, `
			INSERT INTO key_activity (org_id, key_id, replays) SELECT org_id, id, 1 FROM idempotency_keys`)
		mustExec(t, database, `
			INSERT INTO key_events (org_id, key_id, was, point, epoch)
			SELECT org_id, id, 'started', 'finished', n FROM idempotency_keys, generate_series(1, 3) AS n`)
		// A batch is smaller than each of the tables.
		wantPurged(t, database, 2, 5)
		wantCount(t, database, "SELECT count(*) FROM key_activity", 4)
		wantCount(t, database, "SELECT count(*) FROM key_events", 12)
		wantCount(t, database, "SELECT count(DISTINCT key_id) FROM key_events", 4)
	})

	t.Run("OfKeysThatWereReleasedOrClaimedAnew", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
		org := uuid.New()
		activity := admin.NewActivity()
		guard := idempotency.NewGuard(database, time.Hour, nil, activity, metrics.New("").Keys)
		ids := make(map[string]uuid.UUID)
		for _, key := range []string{"kept", "purged", "claimed anew", "released"} {
			record := finishedRecord(org)
			record.ID = mustClaim(t, database, newClaim(org, key, "a"))
			ids[key] = record.ID
			if _, err := guard.Answer(record, record.Fingerprint); err != nil {
				t.Fatal(err)
			}
		}
		mustFlush(t, activity, database)
		expire(t, database, "purged")
		expire(t, database, "claimed anew")
		mustClaim(t, database, newClaim(org, "claimed anew", "b"))
		mustExec(t, database, `DELETE FROM idempotency_keys WHERE key = 'released'`)
		wantPurged(t, database, 1, 1)
		for key, want := range map[string]bool{
			"kept": true, "purged": false, "claimed anew": false, "released": false,
		} {
			if _, found := activityOf(t, database, ids[key]); found != want {
				t.Errorf("activity of the key that was %s is there = %t, want %t", key, found, want)
			}
		}
	})

	t.Run("OfHoursThatAreNoLongerKept", func(t *testing.T) {
		t.Parallel()
		database := coretest.OpenDatabase(t)
		mustExec(t, database, `
			INSERT INTO start_hours (org_id, hour, took)
			SELECT $1, date_trunc('hour', now(), 'UTC') - ago * interval '1 hour', array_fill(0, ARRAY[14])
			FROM generate_series(0, 300) AS ago`, uuid.New())
		wantPurged(t, database, 10, 0)
		wantCount(t, database, "SELECT count(*) FROM start_hours", 8*24)
		wantCount(t, database, "SELECT count(*) FROM start_hours WHERE hour <= now() - interval '8 days'", 0)
	})
}
