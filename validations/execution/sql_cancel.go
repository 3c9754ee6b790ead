package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

// CanceledText is the error text of a canceled run.
const CanceledText = "The run was canceled."

// Cancel ends a run that has not ended yet. A worker that executes it loses the lease: its next heartbeat stops it, and
// nothing that it finds is written. A job of the run does nothing.
//
// Canceling a canceled run again is no error. The errors are run_completed for a run that has ended otherwise, and
// run_reserved for a run whose charge is being decided.
func (e *Executor) Cancel(ctx context.Context, principal core.Principal, id uuid.UUID, requestID string) error {
	auditID, err := core.NewID()
	if err != nil {
		return err
	}
	canceled, err := db.InTx(ctx, e.db, func(tx db.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', error = $3, epoch = epoch + 1,
				ended_at = now(), lease_until = NULL, sweep_after = NULL
			WHERE org_id = $1 AND id = $2 AND state <> 'COMPLETED' AND sweep_after < 'infinity'`,
			principal.OrgID, id, CanceledText)
		if err != nil || tag.RowsAffected() == 0 {
			return false, err
		}
		batch := tx.NewBatch()
		core.Audit(batch, core.AuditRecord{
			ID: auditID, OrgID: principal.OrgID, ActorID: principal.UserID, TokenID: principal.TokenID,
			Action: "run.cancel", TargetType: "run", TargetID: id.String(), RequestID: requestID,
		})
		return true, batch.Send(ctx)
	})
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", id, err)
	}
	if canceled {
		e.metrics.Canceled()
		e.waiters.announce(RunKey{OrgID: principal.OrgID, ID: id}, validations.ProgressCompleted)
		return nil
	}
	run, err := e.runs.Find(ctx, principal.OrgID, id)
	if err != nil || run.Result == validations.ResultCanceled {
		return err
	}
	if run.State == validations.StateCompleted {
		return runCompleted(run)
	}
	reserved := core.NewError(core.CodeRunReserved,
		"The run's charge is being decided, so it cannot be canceled right now. Try again in a moment.")
	reserved.RetryAfter = time.Second
	return reserved
}

func runCompleted(run validations.Run) error {
	return core.NewError(core.CodeRunCompleted,
		fmt.Sprintf("The run has already ended with %s, which is final.", run.Result))
}
