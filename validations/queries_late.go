package validations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// LateRun is a run of any organization that should have moved by now.
type LateRun struct {
	OrgID     uuid.UUID
	ID        uuid.UUID
	Workflow  string
	State     RunState
	Attempts  int64
	CreatedAt time.Time
}

// isLate is the condition of runs that nobody executes although they were staged again, or should have been.
const isLate = `sweep_after < 'infinity' AND (sweeps > 0 OR sweep_after < now() - interval '1 minute')
	AND (lease_until IS NULL OR lease_until <= now())`

// LateEverywhere lists late runs of all organizations for operators, those first whose turn comes next.
func (s *Service) LateEverywhere(ctx context.Context, limit int) ([]LateRun, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT org_id, id, workflow_slug, state, attempts, created_at FROM validation_runs
		WHERE `+isLate+` ORDER BY sweep_after LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list late runs: %w", err)
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[LateRun])
	if err != nil {
		return nil, fmt.Errorf("list late runs: %w", err)
	}
	return runs, nil
}
