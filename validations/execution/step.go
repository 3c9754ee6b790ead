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

// engineGrace is how long an engine has to return after its context has ended.
const engineGrace = time.Second

var errPanic = errors.New("the engine panicked")

// runClock computes the time limits of a run's steps. The time elapsed before this lease comes from the database's
// clock, so the run's limit holds across crashes and takeovers. The process measures the time from the first step that
// gets a place here: the wait for the place does not count.
type runClock struct {
	runLimit  time.Duration
	stepLimit time.Duration
	elapsed   time.Duration
	// deadline is zero before the first step.
	deadline time.Time
}

// timeLimit is the time left for a step, and the run's error text if the step exceeds it.
type timeLimit struct {
	left     time.Duration
	exceeded string
}

func newRunClock(definition validations.Definition, cfg Config, elapsed time.Duration) *runClock {
	return &runClock{
		runLimit: bounded(definition.TimeoutSeconds, cfg.RunTimeout), stepLimit: cfg.StepTimeout, elapsed: elapsed,
	}
}

// left returns the time left for the run, and begins to measure it.
func (c *runClock) left() time.Duration {
	if c.deadline.IsZero() {
		c.deadline = time.Now().Add(c.runLimit - c.elapsed)
	}
	return time.Until(c.deadline)
}

// step returns the limit of a step that begins now: its own, or the rest of the run's if that is less.
func (c *runClock) step(step validations.Step) timeLimit {
	limit := bounded(step.TimeoutSeconds, c.stepLimit)
	if left := c.left(); left < limit {
		return timeLimit{
			left, fmt.Sprintf("The run took longer than %s; it was at step %q.", c.runLimit, step.Name),
		}
	}
	return timeLimit{limit, fmt.Sprintf("Step %q took longer than %s.", step.Name, limit)}
}

// bounded returns the definition's limit, or the operator's if the definition has none or a longer one.
func bounded(seconds int, most time.Duration) time.Duration {
	if seconds == 0 {
		return most
	}
	return min(time.Duration(seconds)*time.Second, most)
}

const (
	// enginesPerCPU bounds how many engines of queued runs compute at once. More engines would only make each other
	// exceed their time limits. There are two, because an engine also waits for the chunks of a large document.
	enginesPerCPU = 2
	// localEnginesPerCPU is the same for local runs, whose documents are in memory.
	localEnginesPerCPU = 1
)

// Processors returns the GOMAXPROCS of a process that executes runs on so many CPUs: one more for each engine that may
// compute. Otherwise a request would wait for the time slice of an engine, 10 ms, whenever it goes on after a round
// trip to the database. With a processor to spare the kernel decides, and it prefers threads that have just woken.
func Processors(cpus int) int {
	return cpus * (1 + enginesPerCPU + localEnginesPerCPU)
}

// engineEnd is what an engine has returned.
type engineEnd struct {
	report engines.Report
	err    error
}

// stepRan is what the engine of a step has returned, and when the step began.
type stepRan struct {
	engineEnd

	began time.Time
	// exceeded is the run's error text if the step has taken too long, else it is empty.
	exceeded string
}

// noVerdict says which resource the engine used up, or what failed, or "".
func (r stepRan) noVerdict() string {
	if exhausted, ok := errors.AsType[*engines.ExhaustedError](r.err); ok {
		return exhausted.Reason
	}
	if failed, ok := errors.AsType[*engines.FailedError](r.err); ok {
		return "could not be executed: " + failed.Reason
	}
	return ""
}

// runStep runs the engine of a step once its organization has a place. The step's time limit begins then.
func (e *Executor) runStep(ctx context.Context, x execution, ordinal int) stepRan {
	leave, err := e.enter(ctx, x, ordinal)
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

// enter waits for the memory and the place of a step, and returns what gives them back.
func (e *Executor) enter(ctx context.Context, x execution, ordinal int) (func(), error) {
	if x.resources.memory == nil {
		return x.resources.engines.Take(ctx, x.run.OrgID, 0)
	}
	// Memory comes first: a step that waits for it must not take a place from one that needs none.
	weight := engines.Weight(x.definition.Steps[ordinal].Type, x.document.MediaType, x.document.Size)
	free, err := x.resources.memory.Take(ctx, x.run.OrgID, weight)
	if err != nil {
		return nil, err
	}
	leave, err := x.resources.engines.Take(ctx, x.run.OrgID, 0)
	if err != nil {
		free()
		return nil, err
	}
	return func() { leave(); free() }, nil
}

// supervise runs an engine until it returns. An engine that does not return within engineGrace after the end of its
// context is abandoned, so that it does not block the worker; its result is dropped.
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

// abandon counts an abandoned engine until it returns, if it ever does.
func (e *Executor) abandon(ctx context.Context, run validations.Run, ended <-chan engineEnd) {
	e.log.ErrorContext(ctx, "engine abandoned: it ignores its deadline", "org", run.OrgID, "run", run.ID,
		"abandoned", e.abandoned.Add(1))
	go func() {
		<-ended
		e.log.WarnContext(ctx, "abandoned engine has returned", "org", run.OrgID, "run", run.ID,
			"abandoned", e.abandoned.Add(-1))
	}()
}

// runEngine runs an engine and turns a panic into an error, so that it only fails its own run.
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
