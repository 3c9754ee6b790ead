package workflows

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// versionsAtOnce is how many versions a list has.
const versionsAtOnce = 50

// versionEntry is a version in a list.
type versionEntry struct {
	Number    int
	CreatedAt time.Time
}

// versions lists the versions of a workflow below a number, newest first, and one more than asked for.
func (s *Service) versions(ctx context.Context, orgID, workflowID uuid.UUID, below, count int) ([]versionEntry, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT number, created_at FROM workflow_versions
		WHERE org_id = $1 AND workflow_id = $2 AND number < $3 ORDER BY number DESC LIMIT $4`,
		orgID, workflowID, below, count+1)
	if err != nil {
		return nil, fmt.Errorf("list versions of workflow %s: %w", workflowID, err)
	}
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByPos[versionEntry])
	if err != nil {
		return nil, fmt.Errorf("list versions of workflow %s: %w", workflowID, err)
	}
	return entries, nil
}
