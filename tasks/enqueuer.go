package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/share"
)

const (
	// handOverLimit is how long Redis may take while the rows of a batch are locked, and holdLimit after what time the
	// server unlocks them when the process is frozen.
	handOverLimit = 1200 * time.Millisecond
	holdLimit     = 2 * time.Second

	// A job that the queue refuses is tried again after a pause that doubles from firstDelay to lastDelay.
	firstDelay = 2 * time.Second
	lastDelay  = 5 * time.Minute
	// maxHandOvers is after how many refusals the job is a dead letter: it stays in the table for an operator, and is
	// due so late that only a change of due_at brings it back.
	maxHandOvers    = 10
	deadLetterDelay = 10 * 365 * 24 * time.Hour

	// firstRefill is how soon the enqueuer looks again for room in a full queue. The pause doubles up to lastRefill, in
	// which the workers finish what waits there.
	firstRefill = 10 * time.Millisecond
	lastRefill  = aheadFor
	// maxBatch bounds how many jobs are handed over in one batch.
	maxBatch = 500
	// turnsPerSlot is how many organizations are looked at for each slot of the workers. Those that have all the tasks
	// they may have are fewer than two for each slot, so one that waits is always found behind them.
	turnsPerSlot = 3

	// maxErrorText is how many characters of an error are stored.
	maxErrorText = 500
)

// Enqueuer hands staged jobs to the queue, in turn over the organizations and not much before a worker takes them. The
// backlog stays in the database, so that an organization with many jobs delays no other one's next. Any number of
// enqueuers may work at once; one at a time hands over.
type Enqueuer struct {
	db        *db.DB
	redis     redis.UniversalClient
	inspector *asynq.Inspector
	cfg       EnqueuerConfig
	staged    *jobs.Signal
	log       *slog.Logger

	// served is the organization that had the last turn.
	served uuid.UUID
	pace   pace
	refill time.Duration
	// again wakes the enqueuer after refill.
	again *time.Timer
}

// EnqueuerConfig says for which workers jobs are handed over.
type EnqueuerConfig struct {
	// Slots returns how many jobs all workers execute at once.
	Slots func() (int, error)
	// JobTimeout ends a handler that hangs. It is longer than any job may take.
	JobTimeout time.Duration
}

// NewEnqueuer makes an Enqueuer. It wakes the signal when jobs are left for which there may be room in the queue soon.
// The caller closes the client.
func NewEnqueuer(
	database *db.DB, client redis.UniversalClient, cfg EnqueuerConfig, staged *jobs.Signal, log *slog.Logger,
) *Enqueuer {
	return &Enqueuer{
		db: database, redis: client, inspector: asynq.NewInspectorFromRedisClient(client), cfg: cfg,
		staged: staged, log: log, refill: firstRefill,
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

// handOver is the result of a batch.
type handOver struct {
	delivered []int64
	refused   []refusal
	// again is true when there may be something to hand over soon: another enqueuer is at work, or each organization
	// that has due jobs has all the tasks in the queue that it may have.
	again bool
	// err is set when Redis did not take all of the batch. Jobs in neither list stay as they are.
	err error
}

// RunOnce hands one batch of due jobs to the queue and returns how many rows it dealt with.
//
// The rows are locked, handed over and then deleted in one transaction, so a row is gone only when the queue has its
// job. Redis is called inside of the transaction, so a failure can only make duplicates: when the transaction is
// repeated, fails to commit, commits without an answer or is lost when the server crashes, its rows are handed over
// again. The queue refuses the second task while it holds the first, which has the same id, and once
// the first was done the second finds the epoch of its subject advanced or its work finished. For this reason the
// commit does not wait for the disk either.
func (e *Enqueuer) RunOnce(ctx context.Context) (int, error) {
	slots, err := e.cfg.Slots()
	if err != nil {
		return 0, err
	}
	batch, err := e.handOver(ctx, slots)
	if err != nil {
		return 0, fmt.Errorf("hand over staged jobs: %w", err)
	}
	e.report(ctx, batch.refused)
	if batch.again {
		e.lookAgain()
	} else {
		e.refill = firstRefill
	}
	if batch.err != nil {
		batch.err = fmt.Errorf("hand over staged jobs: %w", batch.err)
	}
	return len(batch.delivered) + len(batch.refused), batch.err
}

// handOver moves jobs of the organizations whose turn it is, as many as the queue has room for. The queue is looked at
// under the lock, so that it holds all that other enqueuers have handed over.
func (e *Enqueuer) handOver(ctx context.Context, slots int) (handOver, error) {
	return db.InPipeline(ctx, e.db,
		func(batch *db.Batch) *db.Future[turn] { return queueTurn(batch, e.served, turnsPerSlot*slots) },
		func(tx db.Tx, found *db.Future[turn], last *db.Batch) (handOver, error) {
			turn, err := found.Get()
			if err != nil || len(turn.orgs) == 0 {
				return handOver{again: !turn.locked}, err
			}
			queue, err := readInFlight(ctx, e.redis)
			if err != nil {
				return handOver{}, err
			}
			e.pace.note(queue.finished, time.Now())
			shares := share.Deal(&queue.held, turn.orgs, slots, min(queue.room(slots, e.pace.ahead()), maxBatch))
			due, err := lockDue(ctx, tx, turn.orgs, shares)
			if err != nil || len(due) == 0 {
				return handOver{again: true}, err
			}
			e.served = lastServed(turn.orgs, shares)
			batch := e.deliver(ctx, due)
			settle(last, batch)
			return batch, nil
		})
}

// report logs the jobs that will not be tried again.
func (e *Enqueuer) report(ctx context.Context, refused []refusal) {
	for _, r := range refused {
		if r.staged.attempts+1 >= maxHandOvers {
			e.log.ErrorContext(ctx, "a staged job is a dead letter: the queue does not take it",
				"staged_job", r.staged.id, "task", r.staged.job.TaskID(), "error", r.cause)
		}
	}
}

// lookAgain wakes the enqueuer when the queue may have room again, or another enqueuer may be done.
func (e *Enqueuer) lookAgain() {
	if e.again != nil {
		e.again.Stop()
	}
	e.again = time.AfterFunc(jitter(e.refill), e.staged.Wake)
	e.refill = min(2*e.refill, lastRefill)
}

func delay(attempts int) time.Duration {
	if attempts >= maxHandOvers {
		return deadLetterDelay
	}
	return backoff(attempts, firstDelay, lastDelay)
}
