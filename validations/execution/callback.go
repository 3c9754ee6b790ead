package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// promise is a call whose answer may come as a callback.
type promise struct {
	call    externalCall
	run     validations.Run
	ordinal int
}

// open reports whether an answer would still count.
func (p promise) open() bool {
	return p.run.State == validations.StateRunning && !p.call.Overdue &&
		(p.call.State == callCalling || p.call.State == callWaiting)
}

// findPromise looks a receipt up.
func (e *Executor) findPromise(ctx context.Context, receipt uuid.UUID) (promise, error) {
	p := promise{call: externalCall{ID: receipt}}
	err := e.db.Pool.QueryRow(ctx, `
		SELECT c.org_id, c.state, coalesce(c.callback_until <= now(), false), c.ordinal, r.id, r.state,
			r.definition_digest
		FROM external_calls AS c JOIN validation_runs AS r ON r.org_id = c.org_id AND r.id = c.run_id
		WHERE c.id = $1`, receipt,
	).Scan(&p.call.OrgID, &p.call.State, &p.call.Overdue, &p.ordinal, &p.run.ID, &p.run.State, &p.run.DefinitionDigest)
	if errors.Is(err, pgx.ErrNoRows) {
		return promise{}, core.NewError(core.CodeNotFound, "There is no such receipt.")
	}
	if err != nil {
		return promise{}, fmt.Errorf("find receipt %s: %w", receipt, err)
	}
	p.run.OrgID = p.call.OrgID
	return p, nil
}

// AcceptCallback makes a signed answer the one that counts and resumes the run. The body is read once the receipt is
// known. It returns false if the answer changes nothing: another answer came first, the callback is late, or the run
// has ended.
func (e *Executor) AcceptCallback(
	ctx context.Context, receipt uuid.UUID, signature string, body func() ([]byte, error),
) (bool, error) {
	p, err := e.findPromise(ctx, receipt)
	if err != nil {
		return false, err
	}
	answer, err := body()
	if err != nil {
		return false, err
	}
	secrets, err := e.signingSecrets(ctx, p.call.OrgID)
	if err != nil {
		return false, err
	}
	if err := core.VerifySignature(signature, answer, time.Now(), secrets...); err != nil {
		return false, core.NewError(core.CodeSignatureInvalid, "The callback is not accepted: "+err.Error()+".")
	}
	if !p.open() {
		return false, nil
	}
	ready, err := e.program(ctx, p.run)
	if err != nil {
		return false, err
	}
	engine, ok := ready.engines[p.ordinal].(*engines.HTTP)
	if !ok || engine.CallbackTimeout == 0 {
		return false, core.NewError(core.CodeNotFound, "The workflow allows no callback for this call.")
	}
	if _, err := engine.Read(answer); err != nil {
		return false, core.InvalidPayload("The answer cannot be used: " + err.Error() +
			". Nothing was recorded; send another one.")
	}
	return e.claimReceipt(ctx, p, answer)
}

// claimReceipt decides between callbacks, and between a callback and the end of its time: one conditional update wins.
// A run that is parked is staged under its next epoch in the same transaction; one that is being executed finds the
// answer when it goes to park, or when the next holder of its lease looks.
func (e *Executor) claimReceipt(ctx context.Context, p promise, answer []byte) (bool, error) {
	claimed, err := db.InTx(ctx, e.db, func(tx db.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE external_calls SET state = 'ANSWERED', answer = $3, answered_at = now()
			WHERE org_id = $1 AND id = $2 AND state IN ('CALLING', 'WAITING')
				AND (callback_until IS NULL OR callback_until > now())
				AND EXISTS (SELECT FROM validation_runs AS r WHERE r.org_id = $1 AND r.id = run_id
					AND r.state = 'RUNNING')`, p.call.OrgID, p.call.ID, answer)
		if err != nil {
			return false, fmt.Errorf("claim receipt %s: %w", p.call.ID, err)
		}
		if tag.RowsAffected() == 0 {
			return false, nil
		}
		return true, e.resume(ctx, tx, p.run)
	})
	if claimed {
		e.staged.Wake()
	}
	return claimed, err
}

// resume stages a run that nobody holds.
func (e *Executor) resume(ctx context.Context, tx db.Tx, run validations.Run) error {
	job := jobs.Job{Kind: validations.JobExecute, OrgID: run.OrgID, SubjectID: run.ID}
	err := tx.QueryRow(ctx, `
		UPDATE validation_runs SET epoch = epoch + 1, sweep_after = now() + $3::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND state = 'RUNNING' AND lease_until IS NULL
		RETURNING epoch`, run.OrgID, run.ID, e.cfg.SweepAfter.Milliseconds()).Scan(&job.Epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("resume run %s: %w", run.ID, err)
	}
	batch := tx.NewBatch()
	jobs.Stage(batch, job)
	return batch.Send(ctx)
}
