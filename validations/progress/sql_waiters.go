package progress

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

// findHappened returns the indexes of the watches whose event has happened. The progress of a run is computed as
// Run.Progress does.
func findHappened(ctx context.Context, database *db.DB, watches []Watch) ([]int, error) {
	happened, err := db.All(ctx, database.Pool, pgx.RowTo[int], `
		SELECT w.number - 1 FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::boolean[]) WITH ORDINALITY
			AS w (org_id, id, beyond, newer, number)
		LEFT JOIN LATERAL (SELECT state, recovery_point FROM validation_runs
			WHERE org_id = w.org_id AND id = w.id LIMIT 1) AS r ON NOT w.newer
		WHERE CASE WHEN w.newer
			THEN (SELECT n.id FROM validation_runs AS n WHERE n.org_id = w.org_id AND n.id > w.id LIMIT 1) IS NOT NULL
			ELSE w.beyond < (CASE r.state WHEN 'PENDING' THEN 0 WHEN 'RUNNING' THEN 1 + r.recovery_point
				WHEN 'COMPLETED' THEN $5 END)
			END`,
		db.Column(watches, func(w *Watch) *uuid.UUID { return &w.OrgID }),
		db.Column(watches, func(w *Watch) *uuid.UUID { return &w.ID }),
		db.Column(watches, func(w *Watch) int32 { return int32(w.Beyond) }),
		db.Column(watches, func(w *Watch) bool { return w.Newer }),
		int32(validations.ProgressCompleted))
	if err != nil {
		return nil, fmt.Errorf("look for the progress of runs: %w", err)
	}
	return happened, nil
}
