package validations

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

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

var (
	// errLeaseLost means that another holder has taken the run over or the run has ended; whoever sees it stops.
	errLeaseLost = errors.New("the run's lease was lost")
	errPanic     = errors.New("the engine panicked")
)

// Execute does a run under a lease, from its recovery point to its end. A job whose epoch is not the
// run's, or whose run is leased or completed, does nothing: the database decides, whatever the queue
// delivers and however often. An error asks the queue for another delivery.
func (s *Service) Execute(ctx context.Context, job jobs.Job) error {
	run, err := s.acquire(ctx, job)
	if errors.Is(err, pgx.ErrNoRows) {
		s.log.DebugContext(ctx, "nothing to execute", "run", job.SubjectID, "epoch", job.Epoch)
		return nil
	}
	if err != nil {
		return fmt.Errorf("lease run %s: %w", job.SubjectID, err)
	}
	err = s.executeLeased(ctx, run)
	if err == nil || errors.Is(err, errLeaseLost) {
		return nil
	}
	s.log.WarnContext(ctx, "run interrupted", "run", run.ID, "attempt", run.Attempts, "error", err)
	s.release(ctx, run)
	return nil
}

func (s *Service) executeLeased(ctx context.Context, run Run) error {
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
	if err != nil {
		return err
	}
	ctx, stop := core.KeepAlive(ctx, s.cfg.Lease/heartbeatsPerLease, errLeaseLost, func(ctx context.Context) bool {
		return s.lost(ctx, run)
	})
	defer stop()
	for ordinal := run.RecoveryPoint; ordinal < len(ready.engines); ordinal++ {
		completed, err := s.executeStep(ctx, run, ready, ordinal, document)
		if err != nil || completed {
			return cause(ctx, err)
		}
	}
	return nil
}

// executeStep runs one engine and commits its result. It reports whether the run is completed by it.
func (s *Service) executeStep(
	ctx context.Context, run Run, ready program, ordinal int, document engines.Document,
) (bool, error) {
	began := time.Now().UTC()
	stepCtx, cancel := context.WithTimeout(ctx, s.cfg.StepTimeout)
	defer cancel()
	report, err := runEngine(stepCtx, ready.engines[ordinal], document)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case stepCtx.Err() != nil:
		return true, s.giveUp(ctx, run, CategoryTimeout,
			fmt.Sprintf("Step %q took longer than %s.", ready.definition.Steps[ordinal].Name, s.cfg.StepTimeout))
	case err != nil:
		s.log.ErrorContext(ctx, "engine failed", "run", run.ID, "step", ordinal, "error", err)
		return true, s.giveUp(ctx, run, CategoryRuntimeError,
			fmt.Sprintf("Step %q could not be executed.", ready.definition.Steps[ordinal].Name))
	}
	return s.commitStep(ctx, run, ready.definition, ordinal, report, began)
}

// runEngine keeps a panic of an engine inside the step that caused it.
func runEngine(
	ctx context.Context, engine engines.Engine, document engines.Document,
) (report engines.Report, err error) { //nolint:nonamedreturns // recover can only report through them
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, reason, debug.Stack())
		}
	}()
	return engine.Run(ctx, document)
}

// acquire takes the lease and a new epoch in one conditional statement. pgx.ErrNoRows means that there
// is nothing to do.
func (s *Service) acquire(ctx context.Context, job jobs.Job) (Run, error) {
	run := Run{OrgID: job.OrgID, ID: job.SubjectID}
	err := s.db.Pool.QueryRow(ctx, `
		UPDATE validation_runs SET state = 'RUNNING', epoch = epoch + 1, attempts = attempts + 1,
			lease_until = now() + $4::bigint * interval '1 millisecond',
			sweep_after = now() + $4::bigint * interval '1 millisecond',
			started_at = coalesce(started_at, now())
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state <> 'COMPLETED' AND usage_metric <> ''
			AND (lease_until IS NULL OR lease_until <= now())
		RETURNING epoch, attempts, recovery_point, definition_digest, submission_id, error_count`,
		job.OrgID, job.SubjectID, job.Epoch, s.cfg.Lease.Milliseconds(),
	).Scan(&run.Epoch, &run.Attempts, &run.RecoveryPoint, &run.DefinitionDigest, &run.SubmissionID, &run.ErrorCount)
	return run, err
}

// lost renews the lease and reports whether another holder has the run. A failed renewal is tried again at
// the next beat, and if none gets through the lease ends by itself.
func (s *Service) lost(ctx context.Context, run Run) bool {
	tag, err := s.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = now() + $4::bigint * interval '1 millisecond',
			sweep_after = now() + $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, s.cfg.Lease.Milliseconds())
	return err == nil && tag.RowsAffected() == 0
}

// release gives the lease back so that the sweeper can stage the run again soon. It must work after the
// caller's context has ended; when it fails, the lease ends by itself.
func (s *Service) release(ctx context.Context, run Run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	pause := retryPause * time.Duration(run.Attempts)
	_, err := s.db.Pool.Exec(ctx, `
		UPDATE validation_runs SET lease_until = NULL, sweep_after = now() + $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`,
		run.OrgID, run.ID, run.Epoch, pause.Milliseconds())
	if err != nil {
		s.log.WarnContext(ctx, "lease not released", "run", run.ID, "error", err)
	}
}

func (s *Service) document(ctx context.Context, run Run) (engines.Document, error) {
	var content []byte
	var mediaType, filename string
	err := s.db.Pool.QueryRow(ctx, `
		SELECT content, media_type, filename FROM submissions WHERE org_id = $1 AND id = $2`,
		run.OrgID, run.SubmissionID).Scan(&content, &mediaType, &filename)
	if err != nil {
		return engines.Document{}, fmt.Errorf("read submission %s: %w", run.SubmissionID, err)
	}
	return engines.NewDocument(content, mediaType, filename), nil
}

// cause prefers the reason for which the context was ended to the error that this led to.
func cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errLeaseLost) {
		return errLeaseLost
	}
	return err
}
