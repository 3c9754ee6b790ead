package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	heartbeatsPerLease = 3
	releaseTimeout     = 5 * time.Second
	// retryPause is what the sweeper waits before a run is begun again, times the attempts so far.
	retryPause = 2 * time.Second
)

// lease is a run that is executed here, with all that has to be read for it.
type lease struct {
	// held is false where there is nothing to execute.
	held       bool
	run        validations.Run
	submission validations.Submission
	// elapsed is how long ago the run's first step began, and waited how long the run had waited for that, where it
	// begins with this lease.
	elapsed time.Duration
	waited  *float64
}

// acquire takes the lease and a new epoch in one conditional statement.
//
// The sweeper finds a lost run when its lease ends, and after every further attempt later by chance: a run that takes
// its workers down does not come back together with the same neighbours.
func (e *Executor) acquire(ctx context.Context, job jobs.Job) (lease, error) {
	taken, err := e.leases.do(ctx, job)
	if taken.waited != nil {
		e.metrics.Began(core.Seconds(*taken.waited))
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
					AS asked (org_id, id, epoch, place)
				WHERE r.org_id = asked.org_id AND r.id = asked.id AND r.epoch = asked.epoch
					AND r.state <> 'COMPLETED' AND r.usage_metric <> ''
					AND (r.lease_until IS NULL OR r.lease_until <= now())
				RETURNING asked.place, r.*)
			SELECT l.place, l.epoch, l.attempts, l.recovery_point, l.definition_digest, l.submission_id, l.error_count,
				(extract(epoch FROM now() - l.started_at) * 1000)::bigint,
				CASE WHEN l.started_at = now() THEN extract(epoch FROM now() - l.created_at)::float8 END, s.*
			FROM leased AS l CROSS JOIN LATERAL (
				SELECT content, upload_id, size, media_type, filename FROM submissions
				WHERE org_id = l.org_id AND id = l.submission_id LIMIT 1) AS s`,
			db.IDColumn(asked, func(job *jobs.Job) *uuid.UUID { return &job.OrgID }),
			db.IDColumn(asked, func(job *jobs.Job) *uuid.UUID { return &job.SubjectID }),
			db.Column(asked, func(job *jobs.Job) int { return job.Epoch }),
			e.cfg.Lease.Milliseconds())
	})
	if err != nil {
		return nil, err
	}
	return leases.Get()
}

// readLeases returns one lease for each job. That of a job whose run was not leased holds nothing.
func readLeases(rows pgx.Rows, asked []jobs.Job) ([]lease, error) {
	defer rows.Close()
	taken := make([]lease, len(asked))
	for rows.Next() {
		var place int
		var elapsed int64
		var l lease
		if err := rows.Scan(&place, &l.run.Epoch, &l.run.Attempts, &l.run.RecoveryPoint, &l.run.DefinitionDigest,
			&l.run.SubmissionID, &l.run.ErrorCount, &elapsed, &l.waited, &l.submission.Content, &l.submission.UploadID,
			&l.submission.Size, &l.submission.MediaType, &l.submission.Filename); err != nil {
			return nil, fmt.Errorf("read a lease: %w", err)
		}
		l.held, l.elapsed = true, time.Duration(elapsed)*time.Millisecond
		l.run.OrgID, l.run.ID = asked[place-1].OrgID, asked[place-1].SubjectID
		taken[place-1] = l
	}
	return taken, rows.Err()
}

// lost renews the lease and reports whether another holder has the run. A failed renewal is tried again at
// the next beat, and if none gets through the lease ends by itself.
func (e *Executor) lost(ctx context.Context, run validations.Run) bool {
	tag, err := e.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = now() + $4::bigint * interval '1 millisecond',
			sweep_after = now() + (1 + (attempts - 1) * random()) * $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, e.cfg.Lease.Milliseconds())
	return err == nil && tag.RowsAffected() == 0
}

// release gives the lease back so that the sweeper can stage the run again soon. An attempt that this process
// broke off itself, because it is to stop, does not count: no number of deployments ends a run. It must work after
// the caller's context has ended; when it fails, the lease ends by itself.
func (e *Executor) release(ctx context.Context, run validations.Run) {
	uncounted := 0
	if errors.Is(ctx.Err(), context.Canceled) {
		uncounted = 1
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	pause := retryPause * time.Duration(run.Attempts)
	_, err := e.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = NULL, attempts = attempts - $5::integer,
			sweep_after = now() + $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, pause.Milliseconds(), uncounted)
	if err != nil {
		e.log.WarnContext(ctx, "lease not released", "run", run.ID, "error", err)
	}
}
