package validations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// errNotReserved means that the state of a run contradicts the recovery point of its request.
var errNotReserved = errors.New("the run is not held")

// Charge records the metric and the period under which the same transaction has charged a held run.
func (s *Service) Charge(
	ctx context.Context, tx db.Tx, orgID, runID uuid.UUID, metric string, period time.Time,
) error {
	tag, err := tx.Exec(ctx, `
		UPDATE validation_runs SET usage_metric = $3, usage_period = $4
		WHERE org_id = $1 AND id = $2 AND usage_metric = '' AND state = 'PENDING'`, orgID, runID, metric, period)
	if err != nil {
		return fmt.Errorf("charge run %s: %w", runID, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("charge run %s: %w", runID, errNotReserved)
	}
	return nil
}

// Launch stages a held run that was charged. The caller wakes the jobs' signal after the commit.
func (s *Service) Launch(ctx context.Context, tx db.Tx, orgID, runID uuid.UUID) error {
	var epoch int
	err := tx.QueryRow(ctx, `
		UPDATE validation_runs SET sweep_after = now() + $3::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND usage_metric <> '' AND sweep_after = 'infinity'
		RETURNING epoch`, orgID, runID, s.sweepAfter.Milliseconds()).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("launch run %s: %w", runID, errNotReserved)
	}
	if err != nil {
		return fmt.Errorf("launch run %s: %w", runID, err)
	}
	batch := tx.NewBatch()
	jobs.Stage(batch, jobs.Job{Kind: JobExecute, OrgID: orgID, SubjectID: runID, Epoch: epoch})
	return batch.Send(ctx)
}

// Decline ends a held run whose charge was declined. It is not charged.
func (s *Service) Decline(ctx context.Context, tx db.Tx, orgID, runID uuid.UUID, reason string) error {
	tag, err := tx.Exec(ctx, `
		UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', error = $3, ended_at = now(),
			sweep_after = NULL
		WHERE org_id = $1 AND id = $2 AND usage_metric = '' AND state = 'PENDING'`, orgID, runID, reason)
	if err != nil {
		return fmt.Errorf("decline run %s: %w", runID, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("decline run %s: %w", runID, errNotReserved)
	}
	return nil
}

// PendingAnswer renders a held run as Prepare has, byte for byte.
func (s *Service) PendingAnswer(ctx context.Context, orgID, runID uuid.UUID) ([]byte, error) {
	var slug string
	if err := s.db.Pool.QueryRow(ctx, `SELECT slug FROM organizations WHERE id = $1`, orgID).Scan(&slug); err != nil {
		return nil, fmt.Errorf("read organization %s: %w", orgID, err)
	}
	body, err := s.Show(ctx, orgID, slug, runID)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("render run %s: %w", runID, err)
	}
	return answer, nil
}
