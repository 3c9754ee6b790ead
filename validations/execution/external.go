package execution

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

// maxFirstRetryPause is the longest wait before the first retry of a call.
const maxFirstRetryPause = 500 * time.Millisecond

// ExternalConfig configures the calls of external validators.
type ExternalConfig struct {
	// Allow lists private networks that may be called. Public ones always may be.
	Allow []netip.Prefix
	// Address is the service's public URL, which callbacks are sent to, without a slash at its end.
	Address string
}

// externalStep is a step whose document an external validator checks.
type externalStep struct {
	run        *validations.Run
	definition validations.Definition
	ordinal    int
	engine     *engines.HTTP
	document   engines.Document
	clock      *runClock
}

func (x externalStep) step() validations.Step {
	return x.definition.Steps[x.ordinal]
}

// key returns the idempotency key of the call. It is the same in every execution of the step, so a validator that
// deduplicates by key checks the document once.
func (x externalStep) key() string {
	return fmt.Sprintf("sv-run-%s-step-%d", x.run.ID, x.ordinal)
}

// executeExternal calls the validator, or continues where an earlier execution of the step has stopped. It returns true
// when nothing is left to do here: the run is completed, or it waits for a callback without a lease.
func (e *Executor) executeExternal(ctx context.Context, x externalStep) (bool, error) {
	call, err := e.beginCall(ctx, *x.run, x.ordinal)
	if err != nil {
		return false, err
	}
	switch {
	case call.State == callAnswered:
		return e.useAnswer(ctx, x, call)
	case call.State == callFailed:
		// A call fails in the transaction that ends its run, so another execution has ended this one.
		return false, errLeaseLost
	case call.Overdue:
		return e.endCall(ctx, x, call, api.ErrorCategoryTimeout, "did not send its answer in time.")
	case call.State == callWaiting:
		return e.awaitCallback(ctx, x, call)
	case !call.New && !x.engine.Idempotent:
		// An earlier execution has begun the call and was interrupted: the validator may have got it.
		return e.endCall(ctx, x, call, api.ErrorCategoryRuntimeError, UnknownOutcome)
	default:
		return e.callValidator(ctx, x, call)
	}
}

// UnknownOutcome ends the error text of a run whose validator may have been called and must not be called twice.
const UnknownOutcome = "may have been called, and its answer was lost. It is not called again, because the workflow " +
	"says that a call must not be repeated."

func (e *Executor) callValidator(ctx context.Context, x externalStep, call externalCall) (bool, error) {
	request, err := e.newCall(ctx, x, call)
	if err != nil {
		return false, err
	}
	limit := x.clock.step(x.step())
	callCtx, cancel := context.WithTimeout(ctx, limit.left)
	defer cancel()
	answer, err := e.validators.Do(callCtx, request)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		e.log.WarnContext(ctx, "external validator failed", "org", x.run.OrgID, "run", x.run.ID, "step", x.ordinal,
			"error", err)
		return e.endUnanswered(ctx, x, call, err, callCtx.Err() != nil)
	}
	if answer.Accepted() {
		return e.awaitCallback(ctx, x, call)
	}
	return e.takeAnswer(ctx, x, call, answer.Body)
}

// endUnanswered ends the run of a call whose retries have failed, or whose step has exceeded its time limit.
func (e *Executor) endUnanswered(
	ctx context.Context, x externalStep, call externalCall, cause error, timedOut bool,
) (bool, error) {
	failure, ok := errors.AsType[*external.CallError](cause)
	switch {
	case !ok:
		return false, cause
	case failure.Unknown() && !x.engine.Idempotent:
		return e.endCall(ctx, x, call, api.ErrorCategoryRuntimeError, UnknownOutcome)
	case timedOut:
		return e.endCall(ctx, x, call, api.ErrorCategoryTimeout, "did not answer in time.")
	default:
		return e.endCall(ctx, x, call, api.ErrorCategoryRuntimeError, "gave no answer: "+failure.Reason+".")
	}
}

// takeAnswer records a valid answer. An invalid answer ends the run in ERROR and is never a pass.
func (e *Executor) takeAnswer(ctx context.Context, x externalStep, call externalCall, answer []byte) (bool, error) {
	if _, err := x.engine.Read(answer); err != nil {
		return e.endCall(ctx, x, call, api.ErrorCategoryRuntimeError,
			"gave an answer that cannot be used: "+err.Error()+".")
	}
	first, err := e.recordAnswer(ctx, call, answer)
	if err != nil {
		return false, err
	}
	if !first {
		return e.executeExternal(ctx, x)
	}
	call.Answer = answer
	return e.useAnswer(ctx, x, call)
}

func (e *Executor) useAnswer(ctx context.Context, x externalStep, call externalCall) (bool, error) {
	report, err := x.engine.Read(call.Answer)
	if err != nil {
		return false, fmt.Errorf("read the recorded answer of call %s: %w", call.ID, err)
	}
	return e.commitStep(ctx, x.run, x.definition, x.ordinal, report, call.BeganAt)
}

// awaitCallback suspends the run until the callback. If the callback has arrived before, its answer is used at once.
func (e *Executor) awaitCallback(ctx context.Context, x externalStep, call externalCall) (bool, error) {
	if x.engine.CallbackTimeout == 0 {
		return e.endCall(ctx, x, call, api.ErrorCategoryRuntimeError,
			"promised a later answer, which the workflow does not allow.")
	}
	timeout := min(x.engine.CallbackTimeout, x.clock.left())
	suspended, err := e.suspendRun(ctx, *x.run, call, timeout)
	if err != nil || suspended {
		return suspended, err
	}
	return e.executeExternal(ctx, x)
}

// endCall ends the run without an answer, unless one has arrived in the meantime: that one is used.
func (e *Executor) endCall(
	ctx context.Context, x externalStep, call externalCall, category api.ErrorCategory, what string,
) (bool, error) {
	text := fmt.Sprintf("The validator of step %q %s", x.step().Name, what)
	ended, err := e.failCall(ctx, *x.run, call, noVerdict(category, text))
	if err != nil {
		return false, err
	}
	if !ended {
		return e.executeExternal(ctx, x)
	}
	e.logNoVerdict(ctx, *x.run, category, text)
	return true, nil
}

func (e *Executor) newCall(ctx context.Context, x externalStep, call externalCall) (external.Call, error) {
	secrets, err := e.cfg.Signing.Valid(ctx, x.run.OrgID, x.engine.Origin())
	if err != nil {
		return external.Call{}, err
	}
	envelope := external.Envelope{Key: x.key(), Receipt: call.ID, Run: x.run.ID, Step: x.step().ID}
	if x.engine.CallbackTimeout > 0 {
		envelope.Callback = &external.Callback{
			URL:            e.cfg.External.Address + "/api/callbacks/" + call.ID.String() + "/",
			TimeoutSeconds: int(x.engine.CallbackTimeout / time.Second),
		}
	}
	return newCall(x.engine, envelope, x.document, secrets)
}

// newCall makes the call of a validator with a document, which completes the envelope.
func newCall(
	engine *engines.HTTP, envelope external.Envelope, document engines.Document, secrets [][]byte,
) (external.Call, error) {
	envelope.MediaType, envelope.Filename, envelope.Size = document.MediaType, document.Filename, document.Size
	envelope.Parameters = engine.Parameters
	body, err := external.NewBody(envelope, document.Content)
	if err != nil {
		return external.Call{}, err
	}
	return external.Call{
		URL: engine.URL, Headers: engine.Headers, Body: body, Secrets: secrets,
		AttemptTimeout: engine.AttemptTimeout, Repeatable: engine.Idempotent, MaxAnswer: engines.MaxAnswerBytes,
	}, nil
}
