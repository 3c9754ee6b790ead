package tasks

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// enqueueLock is the advisory lock of the one enqueuer that hands over at a time. What is in the queue would otherwise
// be counted by several before any of them has added to it.
const enqueueLock = 7120531966

// queueTurn takes the lock and finds the organizations that have due jobs: up to most of them, in the order of their
// ids, beginning behind the one that was served last. The future is empty where another enqueuer has the lock.
//
// Each organization is found by one look into the index, however many jobs it has. The server ends the transaction of a
// process that is frozen meanwhile.
func queueTurn(batch *db.Batch, after uuid.UUID, most int) *db.Future[[]uuid.UUID] {
	batch.Queue(`SELECT set_config('idle_in_transaction_session_timeout', $1, true),
		set_config('synchronous_commit', 'off', true)`, strconv.FormatInt(holdLimit.Milliseconds(), 10))
	return db.QueueInto(batch, func(rows pgx.Rows) ([]uuid.UUID, error) {
		return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	}, `
		WITH RECURSIVE mine AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($3) AS locked),
		behind AS (
			(SELECT org_id, 1 AS place FROM staged_jobs WHERE org_id > $1 AND due_at <= now() ORDER BY org_id LIMIT 1)
			UNION ALL
			SELECT next.org_id, behind.place + 1 FROM behind CROSS JOIN LATERAL (
				SELECT org_id FROM staged_jobs WHERE org_id > behind.org_id AND due_at <= now()
				ORDER BY org_id LIMIT 1) AS next
			WHERE behind.place < $2),
		before AS (
			(SELECT org_id, 1 AS place FROM staged_jobs WHERE due_at <= now() ORDER BY org_id LIMIT 1)
			UNION ALL
			SELECT next.org_id, before.place + 1 FROM before CROSS JOIN LATERAL (
				SELECT org_id FROM staged_jobs WHERE org_id > before.org_id AND due_at <= now()
				ORDER BY org_id LIMIT 1) AS next
			WHERE before.place < $2)
		SELECT org_id FROM (SELECT org_id FROM behind UNION ALL SELECT org_id FROM before WHERE org_id <= $1) AS turn
		WHERE (SELECT locked FROM mine) LIMIT $2`, after, most, int64(enqueueLock))
}

// lockDue locks the oldest due jobs of each organization, as many as its share. Jobs are known by their own ids alone:
// one with a lower id may become visible after one with a higher id is gone.
func lockDue(ctx context.Context, tx db.Tx, orgs []uuid.UUID, shares []int) ([]stagedJob, error) {
	rows, err := tx.Query(ctx, `
		SELECT due.id, due.attempts, due.kind, turn.org_id, due.subject_id, due.epoch
		FROM unnest((SELECT $1::uuid[]), (SELECT $2::integer[])) AS turn (org_id, share) CROSS JOIN LATERAL (
			SELECT id, attempts, kind, subject_id, epoch FROM staged_jobs
			WHERE org_id = turn.org_id AND due_at <= now() ORDER BY due_at, id LIMIT turn.share
			FOR UPDATE SKIP LOCKED) AS due`, orgs, shares)
	if err != nil {
		return nil, fmt.Errorf("lock due jobs: %w", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (stagedJob, error) {
		var s stagedJob
		err := row.Scan(&s.id, &s.attempts, &s.job.Kind, &s.job.OrgID, &s.job.SubjectID, &s.job.Epoch)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("lock due jobs: %w", err)
	}
	return due, nil
}

// settle deletes what was delivered and puts off what was refused.
func settle(batch *db.Batch, done handOver) {
	if len(done.delivered) > 0 {
		batch.Queue("DELETE FROM staged_jobs WHERE id = ANY ((SELECT $1::bigint[])::bigint[])", done.delivered)
	}
	for _, r := range done.refused {
		attempts := r.staged.attempts + 1
		batch.Queue(`
			UPDATE staged_jobs SET attempts = $2, last_error = $3, due_at = now() + make_interval(secs => $4)
			WHERE id = $1`, r.staged.id, attempts, core.StorableUpTo(r.cause.Error(), maxErrorText),
			delay(attempts).Seconds())
	}
}
