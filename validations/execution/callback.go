package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// receipt is a call whose answer may come as a callback. The callback's URL names it.
type receipt struct {
	call    externalCall
	run     validations.Run
	ordinal int
}

// open reports whether an answer would still be accepted.
func (r receipt) open() bool {
	return r.run.State == api.RunStateRunning && !r.call.Overdue &&
		(r.call.State == callCalling || r.call.State == callWaiting)
}

// AcceptCallback records a signed answer and resumes the run. It reads the body only if there is such a receipt.
//
// It returns false if the answer changes nothing: another answer was first, the deadline has passed, or the run has
// ended. The errors are not_found, signature_invalid and invalid_payload; after an invalid payload the validator may
// send another answer.
func (e *Executor) AcceptCallback(
	ctx context.Context, receiptID, signature string, body func() ([]byte, error),
) (bool, error) {
	r, err := e.findReceipt(ctx, receiptID)
	if err != nil {
		return false, err
	}
	answer, err := body()
	if err != nil {
		return false, err
	}
	engine, err := e.engineOf(ctx, r)
	if err != nil {
		return false, err
	}
	// The signature comes first: without the secret a caller does not learn whether the receipt is still open.
	if err := e.verifyCallback(ctx, r, engine.Origin(), signature, answer); err != nil {
		return false, err
	}
	if !r.open() {
		return false, nil
	}
	if engine.CallbackTimeout == 0 {
		return false, core.NewError(api.CodeNotFound, "The workflow allows no callback for this call.")
	}
	if _, err := engine.Read(answer); err != nil {
		return false, core.InvalidPayload("The answer cannot be used: " + err.Error() +
			". Nothing was recorded; send another one.")
	}
	return e.recordCallback(ctx, r, answer)
}

// engineOf returns the engine of the step that made the call.
func (e *Executor) engineOf(ctx context.Context, r receipt) (*engines.HTTP, error) {
	ready, err := e.plan(ctx, r.run)
	if err != nil {
		return nil, err
	}
	engine, ok := ready.engines[r.ordinal].(*engines.HTTP)
	if !ok {
		return nil, fmt.Errorf("step %d of run %s has a call and calls no validator", r.ordinal, r.run.ID)
	}
	return engine, nil
}

// verifyCallback checks that the validator at the origin has signed this answer for this receipt and its run.
func (e *Executor) verifyCallback(ctx context.Context, r receipt, origin, signature string, answer []byte) error {
	secrets, err := e.cfg.Signing.Valid(ctx, r.call.OrgID, origin)
	if err != nil {
		return err
	}
	subject := core.Subject{
		Direction: core.DirectionCallback, Receipt: r.call.ID.String(), Run: r.run.ID.String(),
	}
	if err := core.VerifySignature(signature, subject, answer, time.Now(), secrets...); err != nil {
		return core.NewError(api.CodeSignatureInvalid, "The callback is not accepted: "+err.Error()+".")
	}
	return nil
}

// findReceipt returns not_found also for a text that is no id.
func (e *Executor) findReceipt(ctx context.Context, text string) (receipt, error) {
	id, ok := core.ParseID(text)
	if !ok {
		return receipt{}, errNoReceipt()
	}
	return e.readReceipt(ctx, id)
}

func errNoReceipt() error {
	return core.NewError(api.CodeNotFound, "There is no such receipt.")
}

// recordCallback stores the answer and resumes the run, unless another answer or the deadline was first.
//
// A run that has given its lease back is staged in the same transaction. A run that is being executed finds the answer
// when it is about to give its lease back, or the next holder of the lease finds it.
func (e *Executor) recordCallback(ctx context.Context, r receipt, answer []byte) (bool, error) {
	recorded, err := db.InTx(ctx, e.db, func(tx db.Tx) (bool, error) {
		recorded, err := claimReceipt(ctx, tx, r.call, answer)
		if err != nil || !recorded {
			return false, err
		}
		return true, e.resume(ctx, tx, r.run)
	})
	if recorded {
		e.staged.Wake()
	}
	return recorded, err
}
