package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/tracing"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	heartbeatsPerLease = 3
	releaseTimeout     = 5 * time.Second
	// retryPause times the attempts so far is how long an interrupted run waits for its next attempt.
	retryPause = 2 * time.Second
	// maxPauseDoublings bounds the wait of a run for the object store at 64 seconds.
	maxPauseDoublings = 5
)

// lease is the right to execute a run, with what the execution reads of the run and its submission.
type lease struct {
	// acquired is false if there is nothing to execute.
	acquired   bool
	run        validations.Run
	submission validations.Submission
	// elapsed is the time since the run was first leased. waited is how many seconds it had waited for its first
	// lease; it is nil for every later lease.
	elapsed time.Duration
	waited  *float64
	// origin is the span of the start in another process; empty where there is none.
	origin tracing.Origin
}

// acquire takes the lease under a new epoch in one conditional update, together with other jobs (acquireAll).
//
// The sweeper takes over a lost run when its lease ends. Later attempts are delayed by a growing random interval
// (jitter), so that a run which crashes its workers is not retried next to the same runs.
func (e *Executor) acquire(ctx context.Context, job jobs.Job) (lease, error) {
	taken, err := e.leases.do(ctx, job)
	if taken.waited != nil {
		e.metrics.Began(core.Seconds(*taken.waited))
		e.cfg.Tracer.Waited(ctx, "run.queue", taken.origin, core.Seconds(*taken.waited))
	}
	return taken, err
}

func (e *Executor) acquireAll(ctx context.Context, asked []jobs.Job) ([]lease, error) {
	leases, err := db.InBatch(ctx, e.db, func(batch *db.Batch) *db.Future[[]lease] {
		return db.QueueInto(batch, func(rows pgx.Rows) ([]lease, error) { return readLeases(rows, asked) }, `
			WITH leased AS (
				UPDATE validation_runs AS r SET state = 'RUNNING', epoch = r.epoch + 1, attempts = r.attempts + 1,
					lease_until = now() + $4::bigint * interval '1 millisecond',
					sweep_after = now() + (1 + r.attempts * random()) * $4::bigint * interval '1 millisecond',
					started_at = coalesce(r.started_at, now())
				FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::integer[])) WITH ORDINALITY
					AS asked (org_id, id, epoch, number)
				WHERE `+db.SameRow("r.id", "asked.id")+`
					AND r.epoch = asked.epoch
					AND r.state <> 'COMPLETED' AND r.usage_metric <> ''
					AND (r.lease_until IS NULL OR r.lease_until <= now())
				RETURNING asked.number, r.*)
			SELECT l.number, l.epoch, l.attempts, l.recovery_point, l.definition_digest, l.submission_id, l.error_count,
				(extract(epoch FROM now() - l.started_at) * 1000)::bigint,
				CASE WHEN l.started_at = now() THEN extract(epoch FROM now() - l.created_at)::float8 END,
				coalesce(l.traceparent, ''), coalesce(l.tracestate, ''), s.*
			FROM leased AS l CROSS JOIN LATERAL (
				SELECT content, upload_id, size, media_type, filename FROM submissions
				WHERE org_id = l.org_id AND id = l.submission_id LIMIT 1) AS s`,
			db.Column(asked, func(job *jobs.Job) *uuid.UUID { return &job.OrgID }),
			db.Column(asked, func(job *jobs.Job) *uuid.UUID { return &job.SubjectID }),
			db.Column(asked, func(job *jobs.Job) int { return job.Epoch }),
			e.cfg.Lease.Milliseconds())
	})
	if err != nil {
		return nil, err
	}
	return leases.Get()
}

// readLeases returns one lease for each job, in their order.
func readLeases(rows pgx.Rows, asked []jobs.Job) ([]lease, error) {
	defer rows.Close()
	taken := make([]lease, len(asked))
	for rows.Next() {
		var number int
		var elapsed int64
		var l lease
		if err := rows.Scan(&number, &l.run.Epoch, &l.run.Attempts, &l.run.RecoveryPoint, &l.run.DefinitionDigest,
			&l.run.SubmissionID, &l.run.ErrorCount, &elapsed, &l.waited, &l.origin.Traceparent, &l.origin.Tracestate,
			&l.submission.Content, &l.submission.UploadID, &l.submission.Size, &l.submission.MediaType,
			&l.submission.Filename); err != nil {
			return nil, fmt.Errorf("read a lease: %w", err)
		}
		l.acquired, l.elapsed = true, time.Duration(elapsed)*time.Millisecond
		l.run.OrgID, l.run.ID = asked[number-1].OrgID, asked[number-1].SubjectID
		taken[number-1] = l
	}
	return taken, rows.Err()
}

// lost renews the lease and reports whether the run has another epoch or has ended. An error is no loss: the next
// heartbeat renews again, and if none succeeds the lease ends by itself.
func (e *Executor) lost(ctx context.Context, run validations.Run) bool {
	tag, err := e.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = now() + $4::bigint * interval '1 millisecond',
			sweep_after = now() + (1 + (attempts - 1) * random()) * $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, e.cfg.Lease.Milliseconds())
	return err == nil && tag.RowsAffected() == 0
}

// release gives the lease of a failed attempt back so that the sweeper can stage the run again soon. If it fails, the
// lease ends by itself.
func (e *Executor) release(ctx context.Context, run validations.Run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	pause := retryPause * time.Duration(run.Attempts)
	_, err := e.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = NULL, sweep_after = now() + $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, pause.Milliseconds())
	if err != nil {
		e.log.WarnContext(ctx, "lease not released", "run", run.ID, "error", err)
	}
}

// postpone is release for a run whose document is in an object store that is away. The attempt does not count, so a run
// waits for the store until its own time limit. The wait doubles each time.
func (e *Executor) postpone(ctx context.Context, run validations.Run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := e.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = NULL, attempts = attempts - 1,
			sweep_after = now() + power(2, least(sweeps, $5)) * $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, retryPause.Milliseconds(), maxPauseDoublings)
	if err != nil {
		e.log.WarnContext(ctx, "run not postponed", "run", run.ID, "error", err)
	}
}

// handOver gives the lease back and stages the run for another process, from its recovery point on. If it fails, the
// lease ends by itself.
//
// The attempt does not count: only failures use attempts up, so neither deployments nor the patience of the queue end a
// run.
func (e *Executor) handOver(ctx context.Context, run validations.Run) {
	// The lease must be given back although the caller's context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if _, err := e.handOvers.do(ctx, run); err != nil {
		e.log.WarnContext(ctx, "run not handed over", "run", run.ID, "error", err)
	}
}

// handOverAll hands over the runs whose leases were not lost.
func (e *Executor) handOverAll(ctx context.Context, runs []validations.Run) ([]struct{}, error) {
	err := db.Do(ctx, e.db, func(tx db.Tx) error {
		job := jobs.Job{Kind: validations.JobExecute}
		var staged []jobs.Job
		err := db.Each(ctx, tx, []any{&job.OrgID, &job.SubjectID, &job.Epoch}, func() error {
			staged = append(staged, job)
			return nil
		}, `
			UPDATE validation_runs AS r SET lease_until = NULL, epoch = r.epoch + 1, attempts = r.attempts - 1,
				started_at = `+unlessUnbegun+`,
				sweep_after = now() + $4::bigint * interval '1 millisecond'
			FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::integer[])) AS held (org_id, id, epoch)
			WHERE `+db.SameRow("r.id", "held.id")+`
				AND r.epoch = held.epoch AND r.state = 'RUNNING'
			RETURNING r.org_id, r.id, r.epoch`,
			db.Column(runs, func(run *validations.Run) *uuid.UUID { return &run.OrgID }),
			db.Column(runs, func(run *validations.Run) *uuid.UUID { return &run.ID }),
			db.Column(runs, func(run *validations.Run) int { return run.Epoch }), e.cfg.SweepAfter.Milliseconds())
		if err != nil || len(staged) == 0 {
			return err
		}
		batch := tx.NewBatch()
		jobs.Stage(batch, staged...)
		return batch.Send(ctx)
	})
	if err != nil {
		return nil, err
	}
	e.staged.Wake()
	return make([]struct{}, len(runs)), nil
}
