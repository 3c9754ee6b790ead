package tasks

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// Backlog counts what waits in the outbox.
type Backlog struct {
	// Pending jobs wait to be handed to the queue; DeadLetters were refused so often that they wait for an operator.
	Pending, DeadLetters int64
	// Oldest is the age of the oldest pending job.
	Oldest time.Duration
}

// backlogLimit bounds how many staged jobs are read. Dead letters are old, so they are among the first.
const backlogLimit = 10_000

// ReadBacklog reads the backlog up to a limit, so that a long backlog is cheap to read, too.
func ReadBacklog(ctx context.Context, database *db.DB) (Backlog, error) {
	var found Backlog
	var oldest float64
	err := database.Pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE attempts < $1), count(*) FILTER (WHERE attempts >= $1),
			coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE attempts < $1)), 0)::float8
		FROM (SELECT attempts, created_at FROM staged_jobs ORDER BY id LIMIT $2) AS oldest`,
		maxHandOvers, backlogLimit).Scan(&found.Pending, &found.DeadLetters, &oldest)
	if err != nil {
		return Backlog{}, fmt.Errorf("read the backlog: %w", err)
	}
	found.Oldest = core.Seconds(oldest)
	return found, nil
}

// turn is the organizations that have due jobs, in the order in which they are served. There are none when another
// enqueuer has the lock.
type turn struct {
	locked bool
	orgs   []uuid.UUID
}

// queueTurn takes the lock and finds the organizations that have due jobs: up to most of them, in the order of their
// ids, beginning behind the one that was served last.
//
// Each organization is found by one look into the index, however many jobs it has. The server ends the transaction of a
// process that is frozen meanwhile.
func queueTurn(batch *db.Batch, after uuid.UUID, most int) *db.Future[turn] {
	batch.Queue(`SELECT set_config('idle_in_transaction_session_timeout', $1, true),
		set_config('synchronous_commit', 'off', true)`, strconv.FormatInt(holdLimit.Milliseconds(), 10))
	return db.QueueInto(batch, collectTurn, `
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
		SELECT mine.locked, turn.org_id FROM mine LEFT JOIN LATERAL (
			SELECT org_id FROM (SELECT org_id FROM behind UNION ALL SELECT org_id FROM before WHERE org_id <= $1) AS due
			WHERE (SELECT locked FROM mine) LIMIT $2) AS turn ON true`, after, most, int64(jobs.EnqueueLock))
}

func collectTurn(rows pgx.Rows) (turn, error) {
	var found turn
	var org uuid.NullUUID
	_, err := pgx.ForEachRow(rows, []any{&found.locked, &org}, func() error {
		if org.Valid {
			found.orgs = append(found.orgs, org.UUID)
		}
		return nil
	})
	return found, err
}

// lockDue locks the oldest due jobs of each organization, as many as its share: the ids of subjects grow with time. The
// first job of each organization comes before any second one.
func lockDue(ctx context.Context, tx db.Tx, orgs []uuid.UUID, shares []int) ([]stagedJob, error) {
	due, err := db.All(ctx, tx, func(row pgx.CollectableRow) (stagedJob, error) {
		var s stagedJob
		err := row.Scan(&s.id, &s.attempts, &s.job.Kind, &s.job.OrgID, &s.job.SubjectID, &s.job.Epoch)
		return s, err
	}, `
		SELECT due.id, due.attempts, due.kind, turn.org_id, due.subject_id, due.epoch
		FROM unnest((SELECT $1::uuid[]), (SELECT $2::integer[])) WITH ORDINALITY AS turn (org_id, share, place)
		CROSS JOIN LATERAL (
			SELECT id, attempts, kind, subject_id, epoch FROM staged_jobs
			WHERE org_id = turn.org_id AND due_at <= now() ORDER BY subject_id LIMIT turn.share
			FOR UPDATE SKIP LOCKED) AS due
		ORDER BY row_number() OVER (PARTITION BY turn.place ORDER BY due.subject_id), turn.place`, orgs, shares)
	if err != nil {
		return nil, fmt.Errorf("lock due jobs: %w", err)
	}
	return due, nil
}

// settle deletes the rows of delivered jobs and puts off refused ones.
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

// DeadLetters lists dead letters, the oldest first. They are old, so the oldest jobs hold them all.
func DeadLetters(ctx context.Context, database *db.DB, limit int) ([]DeadLetter, error) {
	letters, err := db.All(ctx, database.Pool, pgx.RowToStructByPos[DeadLetter], `
		SELECT id, kind, org_id, subject_id, attempts, last_error, created_at
		FROM (SELECT * FROM staged_jobs ORDER BY id LIMIT $1) AS oldest
		WHERE attempts >= $2 ORDER BY id LIMIT $3`, backlogLimit, maxHandOvers, limit)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return letters, nil
}

const (
	retryDeadLetter   = `UPDATE staged_jobs SET attempts = 0, due_at = now() WHERE id = $1 AND attempts >= $2`
	discardDeadLetter = `DELETE FROM staged_jobs WHERE id = $1 AND attempts >= $2`
)

// changeDeadLetter runs one of the statements above, which have no effect on a job that is no dead letter.
func changeDeadLetter(ctx context.Context, tx db.Tx, id int64, statement string) error {
	tag, err := tx.Exec(ctx, statement, id, maxHandOvers)
	if err != nil {
		return fmt.Errorf("change dead letter %d: %w", id, err)
	}
	if tag.RowsAffected() == 0 {
		return core.NotFound("dead letter")
	}
	return nil
}
