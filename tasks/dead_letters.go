package tasks

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// DeadLetter is a staged job that the queue has refused maxHandOvers times. It waits for an operator.
type DeadLetter struct {
	ID        int64
	Kind      jobs.Kind
	OrgID     uuid.UUID
	SubjectID uuid.UUID
	Attempts  int64
	LastError string
	CreatedAt time.Time
}

// RetryDeadLetter lets the enqueuer hand the job over again, with all its attempts.
func RetryDeadLetter(ctx context.Context, database *db.DB, id int64, record core.AuditRecord) error {
	return auditDeadLetter(ctx, database, id, record, retryDeadLetter)
}

// DiscardDeadLetter deletes the job. A run that has not ended gets a new one from the sweeper.
func DiscardDeadLetter(ctx context.Context, database *db.DB, id int64, record core.AuditRecord) error {
	return auditDeadLetter(ctx, database, id, record, discardDeadLetter)
}

func auditDeadLetter(
	ctx context.Context, database *db.DB, id int64, record core.AuditRecord, statement string,
) error {
	return db.Do(ctx, database, func(tx db.Tx) error {
		if err := changeDeadLetter(ctx, tx, id, statement); err != nil {
			return err
		}
		batch := tx.NewBatch()
		core.Audit(batch, record)
		return batch.Send(ctx)
	})
}
