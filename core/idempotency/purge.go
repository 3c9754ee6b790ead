package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// purgeTimeout bounds one batch.
const purgeTimeout = 30 * time.Second

// How long the purge rests after a batch, in times that the batch took: it leaves nine tenths of one processor and of
// what the disk takes to those who wait for it, and more the slower they make it. The rest has an end, so that also on
// a busy database more keys go than come.
const (
	purgeRest   = 9
	longestRest = 100 * time.Millisecond
)

// Purge deletes the keys that are expired and finished, and returns how many. Expiry is told by the database's clock.
// A key that is not finished is never deleted: its request is still to be resumed.
//
// Every batch is a transaction of its own, so that no lock is held for long. Rows that somebody else has locked are
// passed over, which lets several purges work at once and keeps out of the way of a request that takes an expired key
// over. After an error the count tells what is gone nevertheless.
func Purge(ctx context.Context, database *db.DB, batch int) (int64, error) {
	if batch < 1 {
		return 0, fmt.Errorf("purge expired keys: the batch is %d, want at least 1", batch)
	}
	var total int64
	var from *time.Time
	for {
		began := time.Now()
		gone, err := purgeBatch(ctx, database, from, batch)
		if err != nil {
			return total, fmt.Errorf("purge expired keys: %w", err)
		}
		if gone.count == 0 {
			return total, purgeActivity(ctx, database, batch)
		}
		total += gone.count
		from = gone.last
		if err := restAfter(ctx, time.Since(began)); err != nil {
			return total, fmt.Errorf("purge expired keys: %w", err)
		}
	}
}

// purged is how many keys a batch has deleted, and when the last of them expired.
type purged struct {
	count int64
	last  *time.Time
}

// purgeBatch deletes keys that expired at from or later. The index still leads to the rows that the batches before have
// deleted, and to look at all of them again would take longer with every batch. The rows are deleted where they were
// found, whatever the planner believes about the table.
//
// The commit does not wait for the disk. What a crash of the server brings back is expired and purged again, and a
// start in the place of a deleted key reaches the disk behind the deletion.
func purgeBatch(ctx context.Context, database *db.DB, from *time.Time, size int) (purged, error) {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	gone, err := db.InBatch(ctx, database, func(batch *db.Batch) *db.Future[purged] {
		batch.Queue("SET LOCAL synchronous_commit = off")
		return db.QueueInto(batch, func(rows pgx.Rows) (purged, error) {
			return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (purged, error) {
				var p purged
				err := row.Scan(&p.count, &p.last)
				return p, err
			})
		}, `
			WITH gone AS (
				DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
					SELECT ctid FROM idempotency_keys
					WHERE expires_at >= coalesce($1::timestamptz, '-infinity') AND expires_at <= now()
						AND recovery_point = $2
					ORDER BY expires_at LIMIT $3
					FOR UPDATE SKIP LOCKED))
				RETURNING expires_at
			)
			SELECT count(*), max(expires_at) FROM gone`, from, PointFinished, size)
	})
	if err != nil {
		return purged{}, err
	}
	return gone.Get()
}

// restAfter rests from a batch, or returns why the purge has to end.
func restAfter(ctx context.Context, took time.Duration) error {
	timer := time.NewTimer(min(purgeRest*took, longestRest))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// What was counted and noted for keys that are gone. A page of rows is looked at in one statement, and the next one
// begins behind it: there may be as many rows as keys, and each statement has to end in time.
const (
	purgeCounts = `
		WITH page AS (
			SELECT org_id, key_id FROM key_activity
			WHERE (org_id, key_id) > ($1, $2) ORDER BY org_id, key_id LIMIT $3
		), gone AS (
			DELETE FROM key_activity AS a USING page WHERE a.org_id = page.org_id AND a.key_id = page.key_id
				AND NOT EXISTS (SELECT FROM idempotency_keys AS k WHERE k.org_id = page.org_id AND k.id = page.key_id)
		)
		SELECT org_id, key_id FROM page ORDER BY org_id DESC, key_id DESC LIMIT 1`
	purgeEvents = `
		WITH page AS (
			SELECT DISTINCT org_id, key_id FROM key_events
			WHERE (org_id, key_id) > ($1, $2) ORDER BY org_id, key_id LIMIT $3
		), gone AS (
			DELETE FROM key_events AS e USING page WHERE e.org_id = page.org_id AND e.key_id = page.key_id
				AND NOT EXISTS (SELECT FROM idempotency_keys AS k WHERE k.org_id = page.org_id AND k.id = page.key_id)
		)
		SELECT org_id, key_id FROM page ORDER BY org_id DESC, key_id DESC LIMIT 1`
)

// purgeActivity deletes what was counted and noted for keys that are gone: purged, released, or taken over under a
// new id; and the days and hours whose time is over.
func purgeActivity(ctx context.Context, database *db.DB, batch int) error {
	if err := purgePages(ctx, database, purgeCounts, batch); err != nil {
		return fmt.Errorf("purge the activity of keys: %w", err)
	}
	if err := purgePages(ctx, database, purgeEvents, batch); err != nil {
		return fmt.Errorf("purge the events of keys: %w", err)
	}
	_, err := database.Pool.Exec(ctx, `
		WITH hours AS (DELETE FROM start_hours WHERE hour <= now() - make_interval(secs => $2))
		DELETE FROM key_activity_days WHERE day <= (now() AT TIME ZONE 'UTC')::date - $1::integer`,
		activityDays, hoursKept.Seconds())
	if err != nil {
		return fmt.Errorf("purge the activity of days and hours: %w", err)
	}
	return nil
}

func purgePages(ctx context.Context, database *db.DB, query string, batch int) error {
	var org, key uuid.UUID
	for {
		began := time.Now()
		err := database.Pool.QueryRow(ctx, query, org, key, batch).Scan(&org, &key)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := restAfter(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// CountExpired counts the keys that Purge would delete.
func CountExpired(ctx context.Context, database *db.DB) (int64, error) {
	var n int64
	err := database.Pool.QueryRow(ctx, `
		SELECT count(*) FROM idempotency_keys
		WHERE expires_at <= now() AND recovery_point = $1`, PointFinished).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count expired keys: %w", err)
	}
	return n, nil
}
