package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
)

// purgeTimeout bounds one batch.
const purgeTimeout = 30 * time.Second

// purgeRest is how long the purge rests after a batch, in times that the batch took. So it leaves most of the database
// to those who wait for it, and the more the slower they make it.
const purgeRest = 2

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
	var from *time.Time
	for {
		began := time.Now()
		n, last, err := purgeBatch(ctx, db, from, batch)
		total += n
		if err != nil {
			return total, fmt.Errorf("purge expired keys: %w", err)
		}
		if n == 0 {
			return total, purgeActivity(ctx, db, batch)
		}
		from = last
		if err := rest(ctx, purgeRest*time.Since(began)); err != nil {
			return total, fmt.Errorf("purge expired keys: %w", err)
		}
	}
}

// purgeBatch deletes keys that expired at from or later, and returns how many and when the last of them expired. The
// index still leads to the rows that the batches before have deleted, and to look at all of them again would take
// longer with every batch. The rows are deleted where they were found, whatever the planner believes about the table.
func purgeBatch(ctx context.Context, db *core.DB, from *time.Time, batch int) (int64, *time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	var n int64
	var last *time.Time
	err := db.Pool.QueryRow(ctx, `
		WITH gone AS (
			DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
				SELECT ctid FROM idempotency_keys
				WHERE expires_at >= coalesce($1::timestamptz, '-infinity') AND expires_at <= now()
					AND recovery_point = $2
				ORDER BY expires_at LIMIT $3
				FOR UPDATE SKIP LOCKED))
			RETURNING expires_at
		)
		SELECT count(*), max(expires_at) FROM gone`, from, PointFinished, batch).Scan(&n, &last)
	return n, last, err
}

// rest waits, or returns why the purge has to end.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
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
func purgeActivity(ctx context.Context, db *core.DB, batch int) error {
	if err := purgePages(ctx, db, purgeCounts, batch); err != nil {
		return fmt.Errorf("purge the activity of keys: %w", err)
	}
	if err := purgePages(ctx, db, purgeEvents, batch); err != nil {
		return fmt.Errorf("purge the events of keys: %w", err)
	}
	_, err := db.Pool.Exec(ctx, `
		WITH hours AS (DELETE FROM start_hours WHERE hour <= now() - make_interval(secs => $2))
		DELETE FROM key_activity_days WHERE day <= (now() AT TIME ZONE 'UTC')::date - $1::integer`,
		activityDays, hoursKept.Seconds())
	if err != nil {
		return fmt.Errorf("purge the activity of days and hours: %w", err)
	}
	return nil
}

func purgePages(ctx context.Context, db *core.DB, query string, batch int) error {
	var org, key uuid.UUID
	for {
		began := time.Now()
		err := db.Pool.QueryRow(ctx, query, org, key, batch).Scan(&org, &key)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := rest(ctx, purgeRest*time.Since(began)); err != nil {
			return err
		}
	}
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
