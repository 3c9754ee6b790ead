package validations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	heartbeatsPerLease = 3
	releaseTimeout     = 5 * time.Second
	// retryPause is what the sweeper waits before a run is begun again, times the attempts so far.
	retryPause = 2 * time.Second
)

// errLeaseLost means that another holder has taken the run over or the run has ended; whoever sees it stops.
var errLeaseLost = errors.New("the run's lease was lost")

// Execute does a run under a lease, from its recovery point to its end. A job whose epoch is not the
// run's, or whose run is leased or completed, does nothing: the database decides, whatever the queue
// delivers and however often. An error asks the queue for another delivery.
func (s *Service) Execute(ctx context.Context, job jobs.Job) error {
	run, elapsed, err := s.acquire(ctx, job)
	if errors.Is(err, pgx.ErrNoRows) {
		s.log.DebugContext(ctx, "nothing to execute", "run", job.SubjectID, "epoch", job.Epoch)
		return nil
	}
	if err != nil {
		return fmt.Errorf("lease run %s: %w", job.SubjectID, err)
	}
	err = s.executeLeased(ctx, run, elapsed)
	if err == nil || errors.Is(err, errLeaseLost) {
		return nil
	}
	s.log.WarnContext(ctx, "run interrupted", "run", run.ID, "attempt", run.Attempts, "error", err)
	s.release(ctx, run)
	return nil
}

func (s *Service) executeLeased(ctx context.Context, run Run, elapsed time.Duration) error {
	if run.Attempts > s.cfg.MaxAttempts {
		return s.giveUp(ctx, run, CategorySystemError,
			fmt.Sprintf("The run was begun %d times and never came to its end.", run.Attempts-1))
	}
	ready, err := s.program(ctx, run)
	if errors.Is(err, errDefinition) {
		return s.giveUp(ctx, run, CategorySystemError, err.Error())
	}
	if err != nil {
		return err
	}
	document, err := s.document(ctx, run)
	if errors.Is(err, errDocumentGone) {
		return s.giveUp(ctx, run, CategorySystemError, "The document is no longer kept, so it could not be checked.")
	}
	if err != nil {
		return err
	}
	clock := newRunClock(ready.definition, s.cfg, elapsed)
	ctx, stop := core.KeepAlive(ctx, s.cfg.Lease/heartbeatsPerLease, errLeaseLost, func(ctx context.Context) bool {
		return s.lost(ctx, run)
	})
	defer stop()
	for ordinal := run.RecoveryPoint; ordinal < len(ready.engines); ordinal++ {
		completed, err := s.executeStep(ctx, run, ready, ordinal, document, clock)
		if err != nil || completed {
			return cause(ctx, err)
		}
	}
	return nil
}

// executeStep runs one engine and commits its result. It reports whether the run is completed by it
// or waits for somebody else.
func (s *Service) executeStep(
	ctx context.Context, run Run, ready program, ordinal int, document engines.Document, clock runClock,
) (bool, error) {
	if foreign, ok := ready.engines[ordinal].(*engines.HTTP); ok {
		// A call that has begun must not fail for want of the rest of its document.
		document, err := inMemory(document)
		if err != nil {
			return false, err
		}
		return s.executeExternal(ctx, externalStep{run, ready.definition, ordinal, foreign, document, clock})
	}
	began := time.Now().UTC()
	limit := clock.step(ready.definition.Steps[ordinal])
	stepCtx, cancel := context.WithTimeout(ctx, limit.left)
	defer cancel()
	report, err := s.supervise(stepCtx, run, ready.engines[ordinal], document)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case stepCtx.Err() != nil:
		return true, s.giveUp(ctx, run, CategoryTimeout, limit.exceeded)
	case errors.Is(err, errUnread):
		return false, err
	case err != nil:
		s.log.ErrorContext(ctx, "engine failed", "run", run.ID, "step", ordinal, "error", err)
		return true, s.giveUp(ctx, run, CategoryRuntimeError,
			fmt.Sprintf("Step %q could not be executed.", ready.definition.Steps[ordinal].Name))
	}
	return s.commitStep(ctx, run, ready.definition, ordinal, report, began)
}

// acquire takes the lease and a new epoch in one conditional statement, and tells how long ago the run's first
// step began. pgx.ErrNoRows means that there is nothing to do.
//
// The sweeper finds a lost run when its lease ends, and after every further attempt later by chance: a run that takes
// its workers down does not come back together with the same neighbours.
func (s *Service) acquire(ctx context.Context, job jobs.Job) (Run, time.Duration, error) {
	run := Run{OrgID: job.OrgID, ID: job.SubjectID}
	var elapsed int64
	var waited *float64
	err := s.db.Pool.QueryRow(ctx, `
		UPDATE validation_runs SET state = 'RUNNING', epoch = epoch + 1, attempts = attempts + 1,
			lease_until = now() + $4::bigint * interval '1 millisecond',
			sweep_after = now() + (1 + attempts * random()) * $4::bigint * interval '1 millisecond',
			started_at = coalesce(started_at, now())
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state <> 'COMPLETED' AND usage_metric <> ''
			AND (lease_until IS NULL OR lease_until <= now())
		RETURNING epoch, attempts, recovery_point, definition_digest, submission_id, error_count,
			(extract(epoch FROM now() - started_at) * 1000)::bigint,
			CASE WHEN started_at = now() THEN extract(epoch FROM now() - created_at)::float8 END`,
		job.OrgID, job.SubjectID, job.Epoch, s.cfg.Lease.Milliseconds(),
	).Scan(&run.Epoch, &run.Attempts, &run.RecoveryPoint, &run.DefinitionDigest, &run.SubmissionID, &run.ErrorCount,
		&elapsed, &waited)
	if waited != nil {
		s.figures.Began(core.Seconds(*waited))
	}
	return run, time.Duration(elapsed) * time.Millisecond, err
}

// lost renews the lease and reports whether another holder has the run. A failed renewal is tried again at
// the next beat, and if none gets through the lease ends by itself.
func (s *Service) lost(ctx context.Context, run Run) bool {
	tag, err := s.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = now() + $4::bigint * interval '1 millisecond',
			sweep_after = now() + (1 + (attempts - 1) * random()) * $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, s.cfg.Lease.Milliseconds())
	return err == nil && tag.RowsAffected() == 0
}

// release gives the lease back so that the sweeper can stage the run again soon. An attempt that this process
// broke off itself, because it is to stop, does not count: no number of deployments ends a run. It must work after
// the caller's context has ended; when it fails, the lease ends by itself.
func (s *Service) release(ctx context.Context, run Run) {
	uncounted := 0
	if errors.Is(ctx.Err(), context.Canceled) {
		uncounted = 1
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	pause := retryPause * time.Duration(run.Attempts)
	_, err := s.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = NULL, attempts = attempts - $5::integer,
			sweep_after = now() + $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, pause.Milliseconds(), uncounted)
	if err != nil {
		s.log.WarnContext(ctx, "lease not released", "run", run.ID, "error", err)
	}
}

func (s *Service) document(ctx context.Context, run Run) (engines.Document, error) {
	var content []byte
	var uploadID *uuid.UUID
	document := engines.Document{}
	err := s.db.Pool.QueryRow(ctx, `
		SELECT content, upload_id, size, media_type, filename FROM submissions WHERE org_id = $1 AND id = $2`,
		run.OrgID, run.SubmissionID).
		Scan(&content, &uploadID, &document.Size, &document.MediaType, &document.Filename)
	switch {
	case err != nil:
		return engines.Document{}, fmt.Errorf("read submission %s: %w", run.SubmissionID, err)
	case uploadID != nil:
		document.Content = s.uploadOf(ctx, run.OrgID, *uploadID, document.Size)
	case content == nil:
		return engines.Document{}, errDocumentGone
	default:
		document.Content = bytes.NewReader(content)
	}
	return document, nil
}

// cause prefers the reason for which the context was ended to the error that this led to.
func cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errLeaseLost) {
		return errLeaseLost
	}
	return err
}
