package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	sweepBatch = 500
	// maxSweepDoublings bounds the back-off at 64 times Config.SweepAfter.
	maxSweepDoublings = 6
)

// errNotWaiting means that there is no need to requeue a run.
var errNotWaiting = errors.New("it is being executed or charged right now")

// Requeue makes a run that has not ended due for the next sweep, without its back-off.
func (e *Executor) Requeue(ctx context.Context, orgID, id uuid.UUID, audit core.AuditRecord) error {
	requeued, err := db.InTx(ctx, e.db, func(tx db.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE validation_runs SET sweep_after = now(), sweeps = 0
			WHERE org_id = $1 AND id = $2 AND state <> 'COMPLETED' AND sweep_after < 'infinity'
				AND (lease_until IS NULL OR lease_until <= now())`, orgID, id)
		if err != nil || tag.RowsAffected() == 0 {
			return false, err
		}
		batch := tx.NewBatch()
		core.Audit(batch, audit)
		return true, batch.Send(ctx)
	})
	if err != nil {
		return fmt.Errorf("requeue run %s: %w", id, err)
	}
	if requeued {
		return nil
	}
	run, err := e.runs.Find(ctx, orgID, id)
	if err != nil {
		return err
	}
	if run.State == validations.StateCompleted {
		return runCompleted(run)
	}
	return fmt.Errorf("requeue run %s: %w", id, errNotWaiting)
}

// Sweep stages overdue runs again: pending runs whose job was lost and running ones whose lease has ended. It returns
// how many it staged.
//
// A job that the enqueuer has postponed counts as lost. Each run gets a new epoch, so what the old job or the old
// holder still does has no effect. Any number of processes may sweep at once.
func (e *Executor) Sweep(ctx context.Context) (int, error) {
	swept, err := db.InTx(ctx, e.db, func(tx db.Tx) (int, error) {
		rows, err := tx.Query(ctx, `
			WITH due AS (
				SELECT org_id, id FROM validation_runs AS r
				WHERE sweep_after <= now() AND (lease_until IS NULL OR lease_until <= now())
					AND NOT EXISTS (SELECT FROM staged_jobs AS j WHERE j.org_id = r.org_id
						AND j.subject_id = r.id AND j.epoch = r.epoch AND j.kind = $1 AND j.due_at <= now())
				ORDER BY sweep_after LIMIT $2 FOR UPDATE SKIP LOCKED)
			UPDATE validation_runs AS r SET epoch = epoch + 1, lease_until = NULL, sweeps = sweeps + 1,
				sweep_after = now() + power(2, least(sweeps, $3)) * $4::bigint * interval '1 millisecond'
			FROM due WHERE r.org_id = due.org_id AND r.id = due.id
			RETURNING $1::text, r.org_id, r.id, r.epoch`,
			validations.JobExecute, sweepBatch, maxSweepDoublings, e.cfg.SweepAfter.Milliseconds())
		if err != nil {
			return 0, fmt.Errorf("find runs to sweep: %w", err)
		}
		staged, err := pgx.CollectRows(rows, pgx.RowToStructByPos[jobs.Job])
		if err != nil {
			return 0, fmt.Errorf("find runs to sweep: %w", err)
		}
		if len(staged) == 0 {
			return 0, nil
		}
		batch := tx.NewBatch()
		jobs.Stage(batch, staged...)
		return len(staged), batch.Send(ctx)
	})
	if swept > 0 {
		e.staged.Wake()
	}
	return swept, err
}
