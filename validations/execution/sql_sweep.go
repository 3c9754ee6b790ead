package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	// sweepBatch bounds the rows that one transaction locks, because cancellations wait for these locks.
	sweepBatch = 500
	// maxSweepDoublings bounds the back-off at 64 times Config.SweepAfter.
	maxSweepDoublings = 6
	// longestWaits bounds in the same way when a run is checked again whose job waits in the outbox.
	longestWaits = 16
)

// unlessUnbegun is the start time of a run for its next holder. If no step ended under the lease that the run was born
// with, its time limit begins anew: it may never have begun, and the wait for the next holder does not count.
const unlessUnbegun = "CASE WHEN r.epoch > 1 OR r.recovery_point > 0 THEN r.started_at END"

// unlessNeverBegun is the number of attempts of a run for its next holder. A lease that the run was born with and that
// has expired does not count: its process may have died, or may not have learned of the commit, before the run had its
// turn. So a document that crashes processes has one attempt more.
const unlessNeverBegun = `CASE WHEN r.epoch > 1 OR r.recovery_point > 0 OR r.lease_until IS NULL
	THEN r.attempts ELSE 0 END`

// errNotWaiting means that there is no need to requeue a run.
var errNotWaiting = errors.New("it is being executed or charged right now")

// Requeue makes a run that has not ended due for the next sweep, without its back-off.
func (e *Executor) Requeue(ctx context.Context, principal core.Principal, id uuid.UUID, reason string) error {
	// A run whose charge is being decided is due at infinity: only its charge lets it start.
	requeued, err := db.InTx(ctx, e.db, func(tx db.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE validation_runs SET sweep_after = now(), sweeps = 0
			WHERE org_id = $1 AND id = $2 AND state <> 'COMPLETED' AND sweep_after < 'infinity'
				AND (lease_until IS NULL OR lease_until <= now())`, principal.OrgID, id)
		if err != nil || tag.RowsAffected() == 0 {
			return false, err
		}
		return true, core.AuditBy(ctx, tx, principal, core.AuditRecord{
			Action: "run.requeue", TargetType: "run", TargetID: id.String(), Detail: reason,
		})
	})
	if err != nil {
		return fmt.Errorf("requeue run %s: %w", id, err)
	}
	if requeued {
		return nil
	}
	run, err := e.runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	if run.State == api.RunStateCompleted {
		return runCompleted(run)
	}
	return fmt.Errorf("requeue run %s: %w", id, errNotWaiting)
}

// Sweep stages overdue runs again: pending runs whose job was lost and running ones whose lease has ended. It returns
// how many it staged.
//
// A job that the enqueuer has postponed counts as lost. Each run gets a new epoch, so what the old job or the old
// holder still does has no effect. A run whose job waits in the outbox is left alone, and looked at again when it has
// waited twice as long: a long backlog is not read again and again. Any number of processes may sweep at once.
func (e *Executor) Sweep(ctx context.Context) (int, error) {
	for {
		batch, err := db.InTx(ctx, e.db, e.sweepBatch(ctx))
		if err != nil {
			return 0, err
		}
		if batch.staged > 0 {
			e.staged.Wake()
		}
		if batch.staged > 0 || batch.waiting < sweepBatch {
			return batch.staged, nil
		}
	}
}

// swept counts the runs of one batch: those that were staged again, and those whose jobs wait in the outbox.
type swept struct {
	staged, waiting int
}

func (e *Executor) sweepBatch(ctx context.Context) func(db.Tx) (swept, error) {
	return func(tx db.Tx) (swept, error) {
		var found swept
		var list []jobs.Job
		var waits bool
		job := jobs.Job{Kind: validations.JobExecute}
		err := db.Each(ctx, tx, []any{&waits, &job.OrgID, &job.SubjectID, &job.Epoch}, func() error {
			if waits {
				found.waiting++
			} else {
				list = append(list, job)
			}
			return nil
		}, `
			WITH due AS (
				SELECT ctid AS place, EXISTS (SELECT FROM staged_jobs AS j WHERE j.org_id = r.org_id
					AND j.subject_id = r.id AND j.epoch = r.epoch AND j.kind = $1 AND j.due_at <= now()) AS waits
				FROM validation_runs AS r
				WHERE sweep_after <= now() AND (lease_until IS NULL OR lease_until <= now())
				ORDER BY sweep_after LIMIT $2 FOR UPDATE SKIP LOCKED)
			UPDATE validation_runs AS r SET lease_until = NULL,
				epoch = epoch + CASE WHEN waits THEN 0 ELSE 1 END,
				sweeps = sweeps + CASE WHEN waits THEN 0 ELSE 1 END,
				started_at = `+unlessUnbegun+`, attempts = `+unlessNeverBegun+`,
				sweep_after = now() + CASE
					WHEN waits THEN least(greatest(now() - created_at, $4::bigint * interval '1 millisecond'),
						$5::bigint * interval '1 millisecond')
					ELSE power(2, least(sweeps, $3)) * interval '1 millisecond' * $4::bigint END
			FROM due WHERE r.ctid = due.place
			RETURNING waits, r.org_id, r.id, r.epoch`,
			validations.JobExecute, sweepBatch, maxSweepDoublings, e.cfg.SweepAfter.Milliseconds(),
			(longestWaits * e.cfg.SweepAfter).Milliseconds())
		if err != nil {
			return swept{}, fmt.Errorf("find runs to sweep: %w", err)
		}
		found.staged = len(list)
		if len(list) == 0 {
			return found, nil
		}
		batch := tx.NewBatch()
		jobs.Stage(batch, list...)
		return found, batch.Send(ctx)
	}
}
