package execution

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// engineGrace is how long an engine gets to return after its context has ended.
const engineGrace = time.Second

var errPanic = errors.New("the engine panicked")

// runClock knows how long the steps of a run may take. What the run has used up was told by the database's clock, so
// that the limit holds over crashes and takeovers; from there on this process measures the time.
type runClock struct {
	runLimit  time.Duration
	stepLimit time.Duration
	deadline  time.Time
}

// timeLimit is how long a step may take still, and what is said of the run when it takes longer.
type timeLimit struct {
	left     time.Duration
	exceeded string
}

func newRunClock(definition validations.Definition, cfg Config, elapsed time.Duration) runClock {
	limit := bounded(definition.TimeoutSeconds, cfg.RunTimeout)
	return runClock{runLimit: limit, stepLimit: cfg.StepTimeout, deadline: time.Now().Add(limit - elapsed)}
}

// step returns the limit of a step that is to begin now: its own, or what is left of the run's.
func (c runClock) step(step validations.Step) timeLimit {
	limit := bounded(step.TimeoutSeconds, c.stepLimit)
	if left := time.Until(c.deadline); left < limit {
		return timeLimit{
			left, fmt.Sprintf("The run took longer than %s; it had come to step %q.", c.runLimit, step.Name),
		}
	}
	return timeLimit{limit, fmt.Sprintf("Step %q took longer than %s.", step.Name, limit)}
}

// bounded is the limit that a definition sets, or the operator's where it sets none or a longer one.
func bounded(seconds int, most time.Duration) time.Duration {
	if seconds == 0 {
		return most
	}
	return min(time.Duration(seconds)*time.Second, most)
}

// enginesPerCPU times the number of CPUs is how many engines of runs from the queue one process runs at once. More runs
// than that wait for the database or for other services at the same time; more engines would only make each other miss
// their time limits.
const enginesPerCPU = 4

// engineEnd is how an engine has ended.
type engineEnd struct {
	report engines.Report
	err    error
}

// stepRan is how the engine of a step has ended.
type stepRan struct {
	engineEnd

	began time.Time
	// exceeded is what is said of a step that took too long, else empty.
	exceeded string
}

// runStep runs the engine of a step when there is a place for it, and the step's time begins then.
func (e *Executor) runStep(ctx context.Context, x execution, ordinal int) stepRan {
	leave, err := x.places.Take(ctx, x.run.OrgID, 0)
	if err != nil {
		return stepRan{engineEnd: engineEnd{err: err}}
	}
	defer leave()
	began := time.Now().UTC()
	limit := x.clock.step(x.definition.Steps[ordinal])
	ctx, cancel := context.WithTimeout(ctx, limit.left)
	defer cancel()
	report, err := e.supervise(ctx, *x.run, x.engines[ordinal], x.document)
	ran := stepRan{engineEnd: engineEnd{report, err}, began: began}
	if ctx.Err() != nil {
		ran.exceeded = limit.exceeded
	}
	return ran
}

// supervise runs an engine and returns with it, or when the context has ended and the engine has not within a grace:
// an engine that ignores its end must not hold the worker. It is left behind then, and nothing of it is kept.
func (e *Executor) supervise(
	ctx context.Context, run validations.Run, engine engines.Engine, document engines.Document,
) (engines.Report, error) {
	if err := ctx.Err(); err != nil {
		return engines.Report{}, err
	}
	ended := make(chan engineEnd, 1)
	go func() { ended <- runEngine(ctx, engine, document) }()
	select {
	case end := <-ended:
		return end.report, end.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(engineGrace)
	defer grace.Stop()
	select {
	case end := <-ended:
		return end.report, end.err
	case <-grace.C:
		e.abandon(ctx, run, ended)
		return engines.Report{}, ctx.Err()
	}
}

// abandon counts an engine that is left behind until it returns, if it ever does.
func (e *Executor) abandon(ctx context.Context, run validations.Run, ended <-chan engineEnd) {
	e.log.ErrorContext(ctx, "left an engine behind that ignores its end", "org", run.OrgID, "run", run.ID,
		"left_behind", e.abandoned.Add(1))
	go func() {
		<-ended
		e.log.WarnContext(ctx, "an engine that was left behind has returned", "org", run.OrgID, "run", run.ID,
			"left_behind", e.abandoned.Add(-1))
	}()
}

// runEngine keeps a panic of an engine inside the step that caused it.
func runEngine(
	ctx context.Context, engine engines.Engine, document engines.Document,
) (end engineEnd) { //nolint:nonamedreturns // recover can only report through it
	defer func() {
		if reason := recover(); reason != nil {
			end = engineEnd{err: fmt.Errorf("%w: %v\n%s", errPanic, reason, debug.Stack())}
		}
	}()
	report, err := engine.Run(ctx, document)
	return engineEnd{report: report, err: err}
}
