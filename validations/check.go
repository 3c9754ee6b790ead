package validations

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// Checker runs a definition on documents in this process, as a worker does. It has no database, so nothing is kept,
// and no network: steps that call other services are skipped.
type Checker struct {
	definition Definition
	engines    []engines.Engine
}

// checkTimeout stands for the operator's limits, of which there are none.
const checkTimeout = 24 * time.Hour

// notOffline is said of a step that calls another service.
const notOffline = "it calls another service, which only a server does"

// NewChecker compiles a definition in which Definition.Check finds no fault.
func NewChecker(definition Definition) (*Checker, error) {
	checker := &Checker{definition: definition, engines: make([]engines.Engine, len(definition.Steps))}
	for i, step := range definition.Steps {
		engine, problems := engines.Compile(step.Type, step.Config, engines.DefaultLimits())
		if len(problems) > 0 {
			return nil, fmt.Errorf("step %d (%s): %w: %s %s", i, step.Name, errDefinition,
				problems[0].Pointer, problems[0].Detail)
		}
		checker.engines[i] = engine
	}
	return checker, nil
}

// Check runs the steps on a document that is shown under the name, and tells observe of each that begins. The error
// is the end of the context; whatever else keeps the document from being checked is in what is returned.
func (c *Checker) Check(
	ctx context.Context, name string, document engines.Document, observe func(step int),
) (formats.Document, error) {
	checked := formats.Document{Name: name, Result: formats.ResultPass}
	clock := newRunClock(c.definition, Config{StepTimeout: checkTimeout, RunTimeout: checkTimeout}, 0)
	for i, step := range c.definition.Steps {
		if note := c.skipped(i, checked); note != "" {
			checked.Steps = append(checked.Steps,
				formats.Step{ID: step.ID, Name: step.Name, Status: formats.StatusSkipped, Note: note})
			continue
		}
		observe(i)
		limit := clock.step(step)
		stepCtx, cancel := context.WithTimeout(ctx, limit.left)
		end := runEngine(stepCtx, c.engines[i], document)
		timedOut := stepCtx.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return formats.Document{}, context.Cause(ctx)
		case timedOut:
			checked.Result, checked.Error = formats.ResultTimedOut, limit.exceeded
		case end.err != nil:
			checked.Result, checked.Error = formats.ResultError, fmt.Sprintf("Step %q: %v", step.Name, end.err)
		default:
			checked.Steps = append(checked.Steps, reportStep(step, end.report))
			if end.report.Errors > 0 {
				checked.Result = formats.ResultFail
			}
		}
	}
	return checked, nil
}

// skipped says why a step is not to be run after what was found so far; "" lets it run.
func (c *Checker) skipped(ordinal int, soFar formats.Document) string {
	if soFar.Error != "" {
		return "the check ended before it"
	}
	for i, done := range soFar.Steps {
		if done.Status == formats.StatusFailed && !c.definition.Steps[i].ContinueOnFailure {
			return "an earlier step failed"
		}
	}
	if c.definition.Steps[ordinal].Type == engines.KindHTTP {
		return notOffline
	}
	return ""
}

func reportStep(step Step, report engines.Report) formats.Step {
	status := formats.StatusPassed
	if report.Errors > 0 {
		status = formats.StatusFailed
	}
	return formats.Step{
		ID: step.ID, Name: step.Name, Status: status, Truncated: report.Truncated, Findings: report.Findings,
		Counts: formats.Counts{
			Errors: int64(report.Errors), Warnings: int64(report.Warnings), Infos: int64(report.Infos),
		},
	}
}
