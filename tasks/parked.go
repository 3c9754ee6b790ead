package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// ParkedJob is a staged job that the queue has refused so often that it is left to people.
type ParkedJob struct {
	ID        int64
	Kind      jobs.Kind
	OrgID     uuid.UUID
	SubjectID uuid.UUID
	Attempts  int64
	LastError string
	CreatedAt time.Time
}

// Parked lists parked jobs, the oldest first. They are old, so they are among the first of all.
func Parked(ctx context.Context, database *db.DB, limit int) ([]ParkedJob, error) {
	rows, err := database.Pool.Query(ctx, `
		SELECT id, kind, org_id, subject_id, attempts, last_error, created_at
		FROM (SELECT * FROM staged_jobs ORDER BY id LIMIT $1) AS oldest
		WHERE attempts >= $2 ORDER BY id LIMIT $3`, backlogLimit, maxHandOvers, limit)
	if err != nil {
		return nil, fmt.Errorf("list parked jobs: %w", err)
	}
	parked, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ParkedJob])
	if err != nil {
		return nil, fmt.Errorf("list parked jobs: %w", err)
	}
	return parked, nil
}

// RetryParked lets the enqueuer hand a parked job over again, with all its attempts.
func RetryParked(ctx context.Context, database *db.DB, id int64, audit core.AuditRecord) error {
	return changeParked(ctx, database, id, audit, `
		UPDATE staged_jobs SET attempts = 0, due_at = now() WHERE id = $1 AND attempts >= $2`)
}

// DiscardParked deletes a parked job. A run that has not ended gets a new one from the sweeper.
func DiscardParked(ctx context.Context, database *db.DB, id int64, audit core.AuditRecord) error {
	return changeParked(ctx, database, id, audit, `DELETE FROM staged_jobs WHERE id = $1 AND attempts >= $2`)
}

func changeParked(ctx context.Context, database *db.DB, id int64, audit core.AuditRecord, statement string) error {
	_, err := db.InTx(ctx, database, func(tx db.Tx) (struct{}, error) {
		tag, err := tx.Exec(ctx, statement, id, maxHandOvers)
		if err != nil {
			return struct{}{}, fmt.Errorf("change parked job %d: %w", id, err)
		}
		if tag.RowsAffected() == 0 {
			return struct{}{}, core.NotFound("parked job")
		}
		batch := tx.NewBatch()
		core.Audit(batch, audit)
		return struct{}{}, batch.Send(ctx)
	})
	return err
}

// LastTick is when periodic work was done last.
type LastTick struct {
	Job    string
	Tick   time.Time
	DoneAt time.Time
	// Effect is how much it did.
	Effect int64
}

// LastTicks reads the latest tick of each periodic work that has one.
func LastTicks(ctx context.Context, database *db.DB, names []string) ([]LastTick, error) {
	rows, err := database.Pool.Query(ctx, `
		SELECT t.job, t.tick, t.done_at, t.effect FROM unnest($1::text[]) AS w (job)
		CROSS JOIN LATERAL (SELECT * FROM job_ticks WHERE job = w.job ORDER BY tick DESC LIMIT 1) AS t
		ORDER BY t.job`, names)
	if err != nil {
		return nil, fmt.Errorf("read the last ticks: %w", err)
	}
	ticks, err := pgx.CollectRows(rows, pgx.RowToStructByPos[LastTick])
	if err != nil {
		return nil, fmt.Errorf("read the last ticks: %w", err)
	}
	return ticks, nil
}
