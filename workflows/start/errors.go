package start

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// admit makes the checks that only new runs have to pass, and returns the request with the type as which the workflow
// takes the document. The rate limit comes last, so that only what could start counts against it.
func (r Request) admit(ctx context.Context, engineMemory int64) (Request, error) {
	definition := r.Workflow.Definition
	switch {
	case !r.Workflow.Active:
		return r, core.NewError(api.CodeWorkflowInactive,
			"The workflow is inactive and starts no new runs. Activate it or use another one.")
	case len(definition.Steps) == 0:
		return r, core.NewError(api.CodeWorkflowHasNoSteps,
			"The workflow has no steps, so there is nothing to check.")
	}
	if r.Earlier == nil {
		types := append([]string{r.Body.MediaType}, r.Body.OtherTypes...)
		mediaType, taken := mediatype.Choose(definition.Accepts, types)
		if !taken {
			return r, body.RefuseType(r.Body, definition.Accepts)
		}
		r.Body.MediaType = mediaType
		if definition.Weight(mediaType, r.Body.Content.Size) > engineMemory {
			return r, tooHeavy(r.Body.Content.Size)
		}
	}
	err := r.Admit(ctx)
	return r, err
}

// tooHeavy refuses a document for which the validators would need more memory than they may ever have.
func tooHeavy(size int64) error {
	return core.NewError(api.CodePayloadTooLarge, fmt.Sprintf(
		"The document of %d bytes needs more memory than this service gives to one validation. Send it in parts, or "+
			"ask the operator for a higher SV_ENGINE_MEMORY.", size))
}

// commitError tells the client what a failed commit means for its start.
func commitError(err error, a *attempt) error {
	if errors.Is(err, db.ErrOutcomeUnknown) {
		retryable := a.keyed && !a.ownKey
		unknown := core.NewError(api.CodeOutcomeUnknown, outcomeAdvice(retryable))
		unknown.RunID, unknown.Retryable, unknown.RetryAfter = a.run.Run.ID.String(), retryable, time.Second
		return unknown.Because(err)
	}
	if db.IsUnavailable(err) || db.IsContention(err) || validations.IsUploadGone(err) {
		unavailable := core.Unavailable(err)
		unavailable.Detail = "The service cannot answer right now. Nothing was started; send the same request again."
		return unavailable
	}
	return err
}

func outcomeAdvice(retryable bool) string {
	if retryable {
		return "It is not known whether the run was started. Send the same request with the same key again: " +
			"it starts the run or answers with the one that was started."
	}
	return "It is not known whether the run was started. Look for run_id before you start another; " +
		"with an Idempotency-Key this request could simply be repeated."
}
