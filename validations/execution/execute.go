package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/core/tracing"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// watchedAfter is how long a run is executed before its process learns at once that it was canceled elsewhere. Most
// runs are over by then, and the others stop within a moment, not at their next heartbeat.
const watchedAfter = 250 * time.Millisecond

// errLeaseLost means that another worker has taken the run over, or that the run has ended. The execution stops.
var errLeaseLost = errors.New("the run's lease was lost")

// Execute executes a run under a lease, from its recovery point to its end. A job of another epoch, and a job whose run
// is leased or completed, do nothing, so it is safe to deliver a job more than once. An error asks the queue to deliver
// the job again.
func (e *Executor) Execute(ctx context.Context, job jobs.Job) error {
	admitNext, err := e.priority.admit(ctx)
	if err != nil {
		return fmt.Errorf("wait until run %s is admitted: %w", job.SubjectID, err)
	}
	defer admitNext()
	leased, err := e.acquire(ctx, job)
	if err != nil {
		return fmt.Errorf("lease run %s: %w", job.SubjectID, err)
	}
	if !leased.acquired {
		e.log.DebugContext(ctx, "nothing to execute", "run", job.SubjectID, "epoch", job.Epoch)
		return nil
	}
	ctx, span := e.cfg.Tracer.Join(ctx, "run.execute", leased.origin)
	defer span.End()
	e.describe(span, leased.run)
	e.executeOrGiveBack(ctx, leased, resources{engines: e.places, memory: e.memory})
	return nil
}

// describe says which run a span is of.
func (*Executor) describe(span tracing.Span, run validations.Run) {
	if span.On() {
		span.Set("sv.run", run.ID.String())
		span.Set("sv.org", run.OrgID.String())
		span.SetInt("sv.attempt", run.Attempts)
	}
}

// resources are the places and the memory that the engines of a run share with others.
type resources struct {
	engines *share.Places
	// memory is nil if the memory for all steps is reserved already.
	memory *share.Places
}

// execution is a run whose steps are being executed.
type execution struct {
	plan

	run       *validations.Run
	document  engines.Document
	clock     *runClock
	resources resources
}

// executeOrGiveBack executes a run whose lease this process has, and reports whether the run has ended here. It gives
// the lease back if the run was interrupted.
func (e *Executor) executeOrGiveBack(ctx context.Context, leased lease, shared resources) bool {
	err := e.executeLeased(ctx, leased, shared)
	switch {
	case err == nil:
		return true
	case errors.Is(err, errLeaseLost):
	case ctx.Err() != nil, errors.Is(err, errStopping):
		e.handOver(ctx, leased.run)
	case errors.Is(err, errStoreAway):
		e.log.WarnContext(ctx, "run postponed", "run", leased.run.ID, "error", err)
		e.postpone(ctx, leased.run)
	default:
		e.log.WarnContext(ctx, "run interrupted", "run", leased.run.ID, "attempt", leased.run.Attempts, "error", err)
		e.release(ctx, leased.run)
	}
	return false
}

func (e *Executor) executeLeased(ctx context.Context, leased lease, shared resources) error {
	run := leased.run
	if run.Attempts > e.cfg.MaxAttempts {
		return e.giveUp(ctx, run, api.ErrorCategorySystemError,
			fmt.Sprintf("The run was started %d times and never finished.", run.Attempts-1))
	}
	ready, err := e.plan(ctx, run)
	if errors.Is(err, validations.ErrDefinition) {
		return e.giveUp(ctx, run, api.ErrorCategorySystemError, err.Error())
	}
	if err != nil {
		return err
	}
	document, err := e.document(ctx, leased)
	if errors.Is(err, errDocumentGone) {
		return e.giveUp(ctx, run, api.ErrorCategorySystemError,
			"The document is no longer kept, so it could not be checked.")
	}
	if err != nil {
		return err
	}
	x := execution{
		plan: ready, run: &run, document: document, resources: shared,
		clock: newRunClock(ready.definition, e.cfg, leased.elapsed),
	}
	executing, end := context.WithCancelCause(ctx)
	defer end(nil)
	watch := time.AfterFunc(watchedAfter, func() {
		if e.progress.AwaitCompleted(executing, run.OrgID, run.ID) {
			end(errLeaseLost)
		}
	})
	defer watch.Stop()
	heartbeat := e.cfg.Lease / heartbeatsPerLease
	ctx, stop := core.KeepAlive(executing, heartbeat, errLeaseLost, func(ctx context.Context) bool {
		return e.lost(ctx, leased.run)
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

// executeStep runs one step and commits its result. It returns true when nothing is left to do here: the run is
// completed, or it waits for a callback.
func (e *Executor) executeStep(ctx context.Context, x execution, ordinal int) (bool, error) {
	ctx, span := e.cfg.Tracer.Start(ctx, "run.step")
	defer span.End()
	span.SetInt("sv.step", ordinal)
	span.Set("sv.validator", x.definition.Steps[ordinal].Type)
	completed, err := e.executeAndCommit(ctx, x, ordinal)
	if err != nil {
		span.Fail(err.Error())
	}
	return completed, err
}

func (e *Executor) executeAndCommit(ctx context.Context, x execution, ordinal int) (bool, error) {
	if remote, ok := x.engines[ordinal].(*engines.HTTP); ok {
		// A call that has begun must not fail because the rest of its document cannot be read.
		document, err := inMemory(x.document)
		if err != nil {
			return false, err
		}
		return e.executeExternal(ctx, externalStep{x.run, x.definition, ordinal, remote, document, x.clock})
	}
	ran := e.runStep(ctx, x, ordinal)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case ran.exceeded != "":
		return true, e.giveUp(ctx, *x.run, api.ErrorCategoryTimeout, ran.exceeded)
	case errors.Is(ran.err, errUnread), errors.Is(ran.err, errStopping):
		return false, ran.err
	case ran.noVerdict() != "":
		return true, e.giveUp(ctx, *x.run, api.ErrorCategoryRuntimeError,
			fmt.Sprintf("Step %q %s.", x.definition.Steps[ordinal].Name, ran.noVerdict()))
	case ran.err != nil:
		e.log.ErrorContext(ctx, "engine failed", "run", x.run.ID, "step", ordinal, "error", ran.err)
		return true, e.giveUp(ctx, *x.run, api.ErrorCategoryRuntimeError,
			fmt.Sprintf("Step %q could not be executed.", x.definition.Steps[ordinal].Name))
	}
	return e.commitStep(ctx, x.run, x.definition, ordinal, ran.report, ran.began)
}

// cause returns errLeaseLost if the lost lease has canceled the context, which has led to the error.
func cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errLeaseLost) {
		return errLeaseLost
	}
	return err
}
