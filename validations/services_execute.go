package validations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// errLeaseLost means that another holder has taken the run over or the run has ended; whoever sees it stops.
var errLeaseLost = errors.New("the run's lease was lost")

// Execute does a run under a lease, from its recovery point to its end. A job whose epoch is not the
// run's, or whose run is leased or completed, does nothing: the database decides, whatever the queue
// delivers and however often. An error asks the queue for another delivery.
func (s *Service) Execute(ctx context.Context, job jobs.Job) error {
	held, err := s.acquire(ctx, job)
	if err != nil {
		return fmt.Errorf("lease run %s: %w", job.SubjectID, err)
	}
	if !held.held {
		s.log.DebugContext(ctx, "nothing to execute", "run", job.SubjectID, "epoch", job.Epoch)
		return nil
	}
	run := held.run
	err = s.executeLeased(ctx, held)
	if err == nil || errors.Is(err, errLeaseLost) {
		return nil
	}
	s.log.WarnContext(ctx, "run interrupted", "run", run.ID, "attempt", run.Attempts, "error", err)
	s.release(ctx, run)
	return nil
}

func (s *Service) executeLeased(ctx context.Context, held lease) error {
	run := held.run
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
	document, err := s.document(ctx, held)
	if errors.Is(err, errDocumentGone) {
		return s.giveUp(ctx, run, CategorySystemError, "The document is no longer kept, so it could not be checked.")
	}
	if err != nil {
		return err
	}
	clock := newRunClock(ready.definition, s.cfg, held.elapsed)
	ctx, stop := core.KeepAlive(ctx, s.cfg.Lease/heartbeatsPerLease, errLeaseLost, func(ctx context.Context) bool {
		return s.lost(ctx, run)
	})
	defer stop()
	for ordinal := run.RecoveryPoint; ordinal < len(ready.engines); ordinal++ {
		completed, err := s.executeStep(ctx, &run, ready, ordinal, document, clock)
		if err != nil || completed {
			return cause(ctx, err)
		}
	}
	return nil
}

// executeStep runs one engine and commits its result. It reports whether the run is completed by it
// or waits for somebody else.
func (s *Service) executeStep(
	ctx context.Context, run *Run, ready program, ordinal int, document engines.Document, clock runClock,
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
	report, err := s.supervise(stepCtx, *run, ready.engines[ordinal], document)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case stepCtx.Err() != nil:
		return true, s.giveUp(ctx, *run, CategoryTimeout, limit.exceeded)
	case errors.Is(err, errUnread):
		return false, err
	case err != nil:
		s.log.ErrorContext(ctx, "engine failed", "run", run.ID, "step", ordinal, "error", err)
		return true, s.giveUp(ctx, *run, CategoryRuntimeError,
			fmt.Sprintf("Step %q could not be executed.", ready.definition.Steps[ordinal].Name))
	}
	return s.commitStep(ctx, run, ready.definition, ordinal, report, began)
}

// cause prefers the reason for which the context was ended to the error that this led to.
func cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errLeaseLost) {
		return errLeaseLost
	}
	return err
}
