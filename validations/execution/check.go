package execution

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/external"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// Checker checks documents against a definition in this process, as a worker does. It has no database, so nothing is
// stored. Steps that call other services are skipped unless AllowHTTP was called.
type Checker struct {
	definition validations.Definition
	engines    []engines.Engine
	validators *external.Client
}

// checkTimeout replaces the operator's time limits, which only a server has.
const checkTimeout = 24 * time.Hour

// notOffline is why a step was skipped.
const notOffline = "it calls another service; a server does so, and check with --allow-http"

// NewChecker compiles a definition that Definition.Check has accepted.
func NewChecker(definition validations.Definition) (*Checker, error) {
	compiled, err := definition.Compile()
	if err != nil {
		return nil, err
	}
	return &Checker{definition: definition, engines: compiled}, nil
}

// AllowHTTP lets the checker call external validators at public addresses and in these networks, without a signature.
func (c *Checker) AllowHTTP(networks []netip.Prefix) {
	c.validators = external.NewClient(external.NewPolicy(networks), maxFirstRetryPause)
}

// Check runs the steps on a document, which the result names name. It calls observe with the index of each step that
// begins. The only error is that of the context; any other failure is part of the result.
func (c *Checker) Check(
	ctx context.Context, name string, document engines.Document, observe func(step int),
) (formats.Document, error) {
	checked := formats.Document{Name: name, Result: api.RunResultPass}
	clock := newRunClock(c.definition, Config{StepTimeout: checkTimeout, RunTimeout: checkTimeout}, 0)
	for i, step := range c.definition.Steps {
		note := c.skipped(i, checked)
		if note == "" {
			observe(i)
			report, problem := c.runStep(ctx, i, document, clock.step(step))
			if ctx.Err() != nil {
				return formats.Document{}, context.Cause(ctx)
			}
			switch {
			case problem != nil:
				checked.Result, checked.Error, note = problem.result, problem.text, validations.NoteNotExecuted
			case repeats(report, checked):
				note = validations.NoteUnreadable
			default:
				checked.Steps = append(checked.Steps, reportStep(step, report))
				if report.Errors > 0 {
					checked.Result = api.RunResultFail
				}
				continue
			}
		}
		skipped := formats.Step{ID: step.ID, Name: step.Name, Status: api.StepStatusSkipped, Note: note}
		checked.Steps = append(checked.Steps, skipped)
	}
	return checked, nil
}

// repeats reports whether all that a step says is why the document cannot be read, and an earlier step has said so.
func repeats(report engines.Report, soFar formats.Document) bool {
	found, ok := report.Unreadable()
	return ok && slices.ContainsFunc(soFar.Steps, func(done formats.Step) bool {
		return slices.ContainsFunc(done.Findings, func(f engines.Finding) bool {
			return f.Code == found.Code && f.Line == found.Line && f.Column == found.Column
		})
	})
}

// failure is why a step could not be executed to its end.
type failure struct {
	result api.RunResult
	text   string
}

func (c *Checker) runStep(
	ctx context.Context, ordinal int, document engines.Document, limit timeLimit,
) (engines.Report, *failure) {
	ctx, cancel := context.WithTimeout(ctx, limit.left)
	defer cancel()
	var end engineEnd
	if remote, ok := c.engines[ordinal].(*engines.HTTP); ok {
		end.report, end.err = c.callValidator(ctx, ordinal, remote, document)
	} else {
		end = runEngine(ctx, c.engines[ordinal], document)
	}
	switch {
	case ctx.Err() != nil:
		return engines.Report{}, &failure{api.RunResultTimedOut, limit.exceeded}
	case end.err != nil:
		// The first line of a panic is followed by its stack.
		reason, _, _ := strings.Cut(end.err.Error(), "\n")
		return engines.Report{}, &failure{
			api.RunResultError, fmt.Sprintf("Step %q: %s", c.definition.Steps[ordinal].Name, reason),
		}
	}
	return end.report, nil
}

// callValidator calls an external validator. Only a server can be called back, so it has to answer at once.
func (c *Checker) callValidator(
	ctx context.Context, ordinal int, remote *engines.HTTP, document engines.Document,
) (engines.Report, error) {
	id := uuid.New()
	envelope := external.Envelope{
		Key: fmt.Sprintf("sv-check-%s-step-%d", id, ordinal), Receipt: id, Run: id,
		Step: c.definition.Steps[ordinal].ID,
	}
	call, err := newCall(remote, envelope, document, nil)
	if err != nil {
		return engines.Report{}, err
	}
	answer, err := c.validators.Do(ctx, call)
	if err != nil {
		return engines.Report{}, fmt.Errorf("its validator gave no answer: %w", err)
	}
	if answer.Accepted() {
		return engines.Report{}, errors.New("its validator promises a later answer, which only a server can receive")
	}
	report, err := remote.Read(answer.Body)
	if err != nil {
		return engines.Report{}, fmt.Errorf("its validator gave an answer that cannot be used: %w", err)
	}
	return report, nil
}

// skipped returns why a step is skipped after the results so far, or "" if it has to run.
func (c *Checker) skipped(ordinal int, soFar formats.Document) string {
	if soFar.Error != "" {
		return validations.NoteNotExecuted
	}
	for i, done := range soFar.Steps {
		failed := done.Status == api.StepStatusFailed || done.Note == validations.NoteUnreadable
		if failed && !c.definition.Steps[i].ContinueOnFailure {
			return "an earlier step failed"
		}
	}
	if c.definition.Steps[ordinal].Type == engines.KindHTTP && c.validators == nil {
		return notOffline
	}
	return ""
}

func reportStep(step validations.Step, report engines.Report) formats.Step {
	status := api.StepStatusPassed
	if report.Errors > 0 {
		status = api.StepStatusFailed
	}
	return formats.Step{
		ID: step.ID, Name: step.Name, Status: status, Truncated: report.Truncated, Findings: report.Findings,
		Counts: api.Counts{Errors: report.Errors, Warnings: report.Warnings, Infos: report.Infos},
	}
}
