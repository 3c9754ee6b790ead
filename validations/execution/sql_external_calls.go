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
)

// callState is how far the call of an external validator is.
type callState string

const (
	// callCalling is a call whose outcome is unknown.
	callCalling callState = "CALLING"
	// callWaiting is a call whose answer was promised as a callback.
	callWaiting callState = "WAITING"
	// callAnswered is a call with its final answer. Later answers are ignored.
	callAnswered callState = "ANSWERED"
	// callFailed is a call whose run has ended without an answer.
	callFailed callState = "FAILED"
)

// externalCall is the one logical call of a step, which may take several HTTP requests.
type externalCall struct {
	OrgID uuid.UUID
	ID    uuid.UUID
	State callState
	// Answer is set until its findings are stored.
	Answer  []byte
	BeganAt time.Time
	// Overdue is set if the deadline of the callback has passed.
	Overdue bool
	// New is set if no request of the call was sent before.
	New bool
}

// beginCall inserts the row of the call or reads it. The execution that inserts it is the first to send a request. Only
// the holder of the lease gets the row.
func (e *Executor) beginCall(ctx context.Context, run validations.Run, ordinal int) (externalCall, error) {
	id := core.NewID()
	call := externalCall{OrgID: run.OrgID}
	err := e.db.Pool.QueryRow(ctx, `
		INSERT INTO external_calls AS c (org_id, id, run_id, ordinal)
		SELECT org_id, $4, id, $5 FROM validation_runs
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'
		ON CONFLICT (org_id, run_id, ordinal) DO UPDATE SET ordinal = c.ordinal
		RETURNING id, state, answer, began_at, coalesce(callback_until <= now(), false)`,
		run.OrgID, run.ID, run.Epoch, id, ordinal,
	).Scan(&call.ID, &call.State, &call.Answer, &call.BeganAt, &call.Overdue)
	if errors.Is(err, pgx.ErrNoRows) {
		return externalCall{}, errLeaseLost
	}
	if err != nil {
		return externalCall{}, fmt.Errorf("begin the call of step %d of run %s: %w", ordinal, run.ID, err)
	}
	call.New = call.ID == id
	return call, nil
}

// recordAnswer stores the answer unless another one was first. It reports whether it has stored this one.
func (e *Executor) recordAnswer(ctx context.Context, call externalCall, answer []byte) (bool, error) {
	tag, err := e.db.Pool.Exec(ctx, `
		UPDATE external_calls SET state = 'ANSWERED', answer = $3, answered_at = now()
		WHERE org_id = $1 AND id = $2 AND state IN ('CALLING', 'WAITING')`, call.OrgID, call.ID, answer)
	if err != nil {
		return false, fmt.Errorf("record the answer of call %s: %w", call.ID, err)
	}
	return tag.RowsAffected() == 1, nil
}

// suspendRun gives the lease back until the callback arrives, or until its deadline, when the sweeper stages the run.
// It returns false if the answer has arrived already.
//
// A suspended run has not used up an attempt. The epoch is raised so that a heartbeat which is still under way does not
// renew the lease.
func (e *Executor) suspendRun(
	ctx context.Context, run validations.Run, call externalCall, timeout time.Duration,
) (bool, error) {
	return db.InTx(ctx, e.db, func(tx db.Tx) (bool, error) {
		var until time.Time
		err := tx.QueryRow(ctx, `
			UPDATE external_calls SET state = 'WAITING',
				callback_until = coalesce(callback_until, now() + $3::bigint * interval '1 millisecond')
			WHERE org_id = $1 AND id = $2 AND state IN ('CALLING', 'WAITING')
			RETURNING callback_until`, call.OrgID, call.ID, timeout.Milliseconds()).Scan(&until)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("wait for the callback of call %s: %w", call.ID, err)
		}
		tag, err := tx.Exec(ctx, `
			UPDATE validation_runs SET lease_until = NULL, epoch = epoch + 1, attempts = attempts - 1, sweep_after = $4
			WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'`, run.OrgID, run.ID, run.Epoch, until)
		if err != nil {
			return false, fmt.Errorf("suspend run %s: %w", run.ID, err)
		}
		if tag.RowsAffected() == 0 {
			return false, errLeaseLost
		}
		return true, nil
	})
}

// failCall ends the call and its run without an answer. It returns false and changes nothing if there is an answer.
func (e *Executor) failCall(ctx context.Context, run validations.Run, call externalCall, end ending) (bool, error) {
	completed, err := db.InTx(ctx, e.db, func(tx db.Tx) (completion, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE external_calls SET state = 'FAILED'
			WHERE org_id = $1 AND id = $2 AND state IN ('CALLING', 'WAITING')`, call.OrgID, call.ID)
		if err != nil {
			return completion{}, fmt.Errorf("end call %s: %w", call.ID, err)
		}
		if tag.RowsAffected() == 0 {
			return completion{}, nil
		}
		return complete(ctx, tx, run, end)
	})
	if err != nil {
		return false, err
	}
	return e.announced(run, completed), nil
}

// readReceipt reads a call by its id alone: the validator that sends the callback does not say which organization it
// works for.
func (e *Executor) readReceipt(ctx context.Context, id uuid.UUID) (receipt, error) {
	r := receipt{call: externalCall{ID: id}}
	err := e.db.Pool.QueryRow(ctx, `
		SELECT c.org_id, c.state, coalesce(c.callback_until <= now(), false), c.ordinal, r.id, r.state,
			r.definition_digest
		FROM external_calls AS c CROSS JOIN LATERAL (SELECT id, state, definition_digest FROM validation_runs
			WHERE org_id = c.org_id AND id = c.run_id LIMIT 1) AS r
		WHERE c.id = $1`, id,
	).Scan(&r.call.OrgID, &r.call.State, &r.call.Overdue, &r.ordinal, &r.run.ID, &r.run.State, &r.run.DefinitionDigest)
	if errors.Is(err, pgx.ErrNoRows) {
		return receipt{}, errNoReceipt()
	}
	if err != nil {
		return receipt{}, fmt.Errorf("find receipt %s: %w", id, err)
	}
	r.run.OrgID = r.call.OrgID
	return r, nil
}

// claimReceipt stores the answer if none is stored and the deadline has not passed. Of concurrent callbacks, the one
// whose update comes first wins.
func claimReceipt(ctx context.Context, tx db.Tx, call externalCall, answer []byte) (bool, error) {
	tag, err := tx.Exec(ctx, `
		UPDATE external_calls SET state = 'ANSWERED', answer = $3, answered_at = now()
		WHERE org_id = $1 AND id = $2 AND state IN ('CALLING', 'WAITING')
			AND (callback_until IS NULL OR callback_until > now())
			AND (SELECT r.state FROM validation_runs AS r WHERE r.org_id = $1 AND r.id = run_id) = 'RUNNING'`,
		call.OrgID, call.ID, answer)
	if err != nil {
		return false, fmt.Errorf("claim receipt %s: %w", call.ID, err)
	}
	return tag.RowsAffected() == 1, nil
}

// resume stages a run without a lease under its next epoch.
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
