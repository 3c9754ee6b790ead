package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// errLeaseLost means that another holder has taken the run over or the run has ended; whoever sees it stops.
var errLeaseLost = errors.New("the run's lease was lost")

// Execute does a run under a lease, from its recovery point to its end. A job whose epoch is not the
// run's, or whose run is leased or completed, does nothing: the database decides, whatever the queue
// delivers and however often. An error asks the queue for another delivery.
func (e *Executor) Execute(ctx context.Context, job jobs.Job) error {
	return e.execute(ctx, job, e.places)
}

// execution is a run in the course of its steps.
type execution struct {
	program

	run      *validations.Run
	document engines.Document
	clock    runClock
	places   *share.Places
}

func (e *Executor) execute(ctx context.Context, job jobs.Job, places *share.Places) error {
	held, err := e.acquire(ctx, job)
	if err != nil {
		return fmt.Errorf("lease run %s: %w", job.SubjectID, err)
	}
	if !held.held {
		e.log.DebugContext(ctx, "nothing to execute", "run", job.SubjectID, "epoch", job.Epoch)
		return nil
	}
	run := held.run
	err = e.executeLeased(ctx, held, places)
	if err == nil || errors.Is(err, errLeaseLost) {
		return nil
	}
	e.log.WarnContext(ctx, "run interrupted", "run", run.ID, "attempt", run.Attempts, "error", err)
	e.release(ctx, run)
	return nil
}

func (e *Executor) executeLeased(ctx context.Context, held lease, places *share.Places) error {
	run := held.run
	if run.Attempts > e.cfg.MaxAttempts {
		return e.giveUp(ctx, run, validations.CategorySystemError,
			fmt.Sprintf("The run was begun %d times and never came to its end.", run.Attempts-1))
	}
	ready, err := e.program(ctx, run)
	if errors.Is(err, validations.ErrDefinition) {
		return e.giveUp(ctx, run, validations.CategorySystemError, err.Error())
	}
	if err != nil {
		return err
	}
	document, err := e.document(ctx, held)
	if errors.Is(err, errDocumentGone) {
		return e.giveUp(ctx, run, validations.CategorySystemError, "The document is no longer kept, so it could not be checked.")
	}
	if err != nil {
		return err
	}
	x := execution{
		program: ready, run: &run, document: document, places: places,
		clock: newRunClock(ready.definition, e.cfg, held.elapsed),
	}
	ctx, stop := core.KeepAlive(ctx, e.cfg.Lease/heartbeatsPerLease, errLeaseLost, func(ctx context.Context) bool {
		return e.lost(ctx, held.run)
	})
	defer stop()
	for ordinal := run.RecoveryPoint; ordinal < len(ready.engines); ordinal++ {
		completed, err := e.executeStep(ctx, x, ordinal)
		if err != nil || completed {
			return cause(ctx, err)
		}
	}
	return nil
}

// executeStep runs one engine and commits its result. It reports whether the run is completed by it
// or waits for somebody else.
func (e *Executor) executeStep(ctx context.Context, x execution, ordinal int) (bool, error) {
	if foreign, ok := x.engines[ordinal].(*engines.HTTP); ok {
		// A call that has begun must not fail for want of the rest of its document.
		document, err := inMemory(x.document)
		if err != nil {
			return false, err
		}
		return e.executeExternal(ctx, externalStep{x.run, x.definition, ordinal, foreign, document, x.clock})
	}
	ran := e.runStep(ctx, x, ordinal)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case ran.exceeded != "":
		return true, e.giveUp(ctx, *x.run, validations.CategoryTimeout, ran.exceeded)
	case errors.Is(ran.err, errUnread):
		return false, ran.err
	case ran.err != nil:
		e.log.ErrorContext(ctx, "engine failed", "run", x.run.ID, "step", ordinal, "error", ran.err)
		return true, e.giveUp(ctx, *x.run, validations.CategoryRuntimeError,
			fmt.Sprintf("Step %q could not be executed.", x.definition.Steps[ordinal].Name))
	}
	return e.commitStep(ctx, x.run, x.definition, ordinal, ran.report, ran.began)
}

// cause prefers the reason for which the context was ended to the error that this led to.
func cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errLeaseLost) {
		return errLeaseLost
	}
	return err
}
