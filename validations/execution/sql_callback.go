package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// readReceipt reads a call by its id alone: the validator that sends the callback does not say which organization it
// works for.
func (e *Executor) readReceipt(ctx context.Context, id uuid.UUID) (receipt, error) {
	r := receipt{call: externalCall{ID: id}}
	err := e.db.Pool.QueryRow(ctx, `
		SELECT c.org_id, c.state, coalesce(c.callback_until <= now(), false), c.ordinal, r.id, r.state,
			r.definition_digest
		FROM external_calls AS c JOIN validation_runs AS r ON r.org_id = c.org_id AND r.id = c.run_id
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
			AND EXISTS (SELECT FROM validation_runs AS r WHERE r.org_id = $1 AND r.id = run_id
				AND r.state = 'RUNNING')`, call.OrgID, call.ID, answer)
	if err != nil {
		return false, fmt.Errorf("claim receipt %s: %w", call.ID, err)
	}
	return tag.RowsAffected() == 1, nil
}

// resume stages a run that nobody holds the lease of, under its next epoch.
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
