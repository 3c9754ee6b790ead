package start

import (
	"errors"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

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
