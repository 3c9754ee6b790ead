package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// purgeTimeout bounds one batch.
const purgeTimeout = 30 * time.Second

// Purge deletes the keys that are expired and finished, and returns how many. Expiry is told by the database's clock.
// A key that is not finished is never deleted: its request is still to be resumed.
//
// Every batch is a statement and a transaction of its own, so that no lock is held for long. Rows that somebody else
// has locked are passed over, which lets several purges work at once and keeps out of the way of a request that takes
// an expired key over. After an error the count tells what is gone nevertheless.
func Purge(ctx context.Context, db *core.DB, batch int) (int64, error) {
	if batch < 1 {
		return 0, fmt.Errorf("purge expired keys: the batch is %d, want at least 1", batch)
	}
	var total int64
	for {
		n, err := purgeBatch(ctx, db, batch)
		total += n
		if err != nil {
			return total, fmt.Errorf("purge expired keys: %w", err)
		}
		if n == 0 {
			return total, purgeActivity(ctx, db)
		}
	}
}

func purgeBatch(ctx context.Context, db *core.DB, batch int) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	deleted, err := db.Pool.Exec(ctx, `
		WITH gone AS (
			SELECT org_id, id FROM idempotency_keys
			WHERE expires_at <= now() AND recovery_point = $1
			ORDER BY expires_at LIMIT $2
			FOR UPDATE SKIP LOCKED
		)
		DELETE FROM idempotency_keys k USING gone
		WHERE k.org_id = gone.org_id AND k.id = gone.id`, PointFinished, batch)
	if err != nil {
		return 0, err
	}
	return deleted.RowsAffected(), nil
}

// purgeActivity deletes what was counted and noted for keys that are gone: purged, released, or taken over under a
// new id; and the days that are not shown any more.
func purgeActivity(ctx context.Context, db *core.DB) error {
	_, err := db.Pool.Exec(ctx, `
		DELETE FROM key_activity AS a WHERE NOT EXISTS (
			SELECT FROM idempotency_keys AS k WHERE k.org_id = a.org_id AND k.id = a.key_id)`)
	if err != nil {
		return fmt.Errorf("purge the activity of keys: %w", err)
	}
	_, err = db.Pool.Exec(ctx, `
		DELETE FROM key_events AS e WHERE NOT EXISTS (
			SELECT FROM idempotency_keys AS k WHERE k.org_id = e.org_id AND k.id = e.key_id)`)
	if err != nil {
		return fmt.Errorf("purge the events of keys: %w", err)
	}
	_, err = db.Pool.Exec(ctx, `
		DELETE FROM key_activity_days WHERE day <= (now() AT TIME ZONE 'UTC')::date - $1::integer`, activityDays)
	if err != nil {
		return fmt.Errorf("purge the activity of days: %w", err)
	}
	return nil
}

// CountExpired counts the keys that Purge would delete.
func CountExpired(ctx context.Context, db *core.DB) (int64, error) {
	var n int64
	err := db.Pool.QueryRow(ctx, `
		SELECT count(*) FROM idempotency_keys
		WHERE expires_at <= now() AND recovery_point = $1`, PointFinished).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count expired keys: %w", err)
	}
	return n, nil
}
