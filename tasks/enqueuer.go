package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

const (
	// handOverLimit is how long Redis may take while the rows of a batch are locked, and holdLimit after what time the
	// server unlocks them when the process is frozen.
	handOverLimit = 1200 * time.Millisecond
	holdLimit     = 2 * time.Second

	// A job that the queue refuses is tried again after a pause that doubles from firstDelay to lastDelay.
	firstDelay = 2 * time.Second
	lastDelay  = 5 * time.Minute
	// maxHandOvers is how often that happens before the job is parked: it stays where people can find it, due so late
	// that nothing but a changed due_at brings it back.
	maxHandOvers = 10
	parkedDelay  = 10 * 365 * 24 * time.Hour

	// maxErrorText is how many characters are kept of why a job was refused.
	maxErrorText = 500
)

// Enqueuer hands staged jobs to the queue. Any number may work at once.
type Enqueuer struct {
	db        *db.DB
	redis     redis.UniversalClient
	inspector *asynq.Inspector
	batchSize int
	log       *slog.Logger
}

// NewEnqueuer makes an Enqueuer that takes up to batchSize jobs at a time. The caller closes the client.
func NewEnqueuer(database *db.DB, client redis.UniversalClient, batchSize int, log *slog.Logger) *Enqueuer {
	return &Enqueuer{
		db: database, redis: client, inspector: asynq.NewInspectorFromRedisClient(client), batchSize: batchSize,
		log: log,
	}
}

// stagedJob is one locked row of staged_jobs.
type stagedJob struct {
	id       int64
	attempts int
	job      jobs.Job
}

// refusal is a job that could not be handed over although Redis works.
type refusal struct {
	staged stagedJob
	cause  error
}

// handOver is what became of a batch.
type handOver struct {
	delivered []int64
	refused   []refusal
	// trouble is set when Redis did not take all of the batch. What is in neither list was left as it was.
	trouble error
}

// RunOnce hands one batch of due jobs to the queue and returns how many rows it dealt with.
//
// The rows are locked, handed over and then deleted in one transaction, so a row is gone only when the queue has its
// job. Redis is spoken to inside of the transaction, and whatever goes wrong around that makes duplicates and nothing
// else: when the transaction is repeated, fails to commit, commits unheard or is lost when the server crashes, its rows
// are handed over again. The queue refuses the second task while it holds the first, which has the same id, and once
// the first was done the second finds the epoch of its subject advanced or its work finished. For this reason the
// commit does not wait for the disk either.
func (e *Enqueuer) RunOnce(ctx context.Context) (int, error) {
	batch, err := db.InPipeline(ctx, e.db, e.lockDue,
		func(_ db.Tx, locked *db.Future[[]stagedJob], last *db.Batch) (handOver, error) {
			due, err := locked.Get()
			if err != nil || len(due) == 0 {
				return handOver{}, err
			}
			batch := e.deliver(ctx, due)
			settle(last, batch)
			return batch, nil
		})
	if err != nil {
		return 0, fmt.Errorf("hand over staged jobs: %w", err)
	}
	for _, r := range batch.refused {
		if r.staged.attempts+1 >= maxHandOvers {
			e.log.ErrorContext(ctx, "parked a staged job that the queue does not take",
				"staged_job", r.staged.id, "task", r.staged.job.TaskID(), "error", r.cause)
		}
	}
	if batch.trouble != nil {
		batch.trouble = fmt.Errorf("hand over staged jobs: %w", batch.trouble)
	}
	return len(batch.delivered) + len(batch.refused), batch.trouble
}

// lockDue locks the oldest due rows that nobody else has locked. Rows are known by their own ids alone: a row with
// a lower id may become visible after one with a higher id is gone.
func (e *Enqueuer) lockDue(batch *db.Batch) *db.Future[[]stagedJob] {
	batch.Queue(`SELECT set_config('idle_in_transaction_session_timeout', $1, true),
		set_config('synchronous_commit', 'off', true)`, strconv.FormatInt(holdLimit.Milliseconds(), 10))
	return db.QueueInto(batch, func(rows pgx.Rows) ([]stagedJob, error) {
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (stagedJob, error) {
			var s stagedJob
			err := row.Scan(&s.id, &s.attempts, &s.job.Kind, &s.job.OrgID, &s.job.SubjectID, &s.job.Epoch)
			return s, err
		})
	}, `
		SELECT id, attempts, kind, org_id, subject_id, epoch FROM staged_jobs
		WHERE due_at <= now() ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`, e.batchSize)
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

func delay(attempts int) time.Duration {
	if attempts >= maxHandOvers {
		return parkedDelay
	}
	return backoff(attempts, firstDelay, lastDelay)
}
