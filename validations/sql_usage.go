package validations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
)

// MaxCountedRuns bounds what a count of runs reads. Beyond it only the newest runs are told apart.
const MaxCountedRuns = 100_000

// maxChargeDelay is how long before its period a run may have been prepared: one that is held back is counted when its
// charge is decided.
const maxChargeDelay = 24 * time.Hour

// CountRuns tells the runs apart that the organization was charged in a period, by day and by workflow. It costs starts
// nothing: ids begin with their time, so the primary key leads to the newest runs, and no more than MaxCountedRuns of
// them are read.
func (s *Service) CountRuns(ctx context.Context, orgID uuid.UUID, period time.Time) (users.RunCounts, error) {
	rows, err := s.db.Pool.Query(ctx, `
		WITH charged AS (
			SELECT workflow_id, workflow_slug, created_at FROM validation_runs
			WHERE org_id = $1 AND id >= $2 AND usage_period = $3 AND usage_metric <> '' ORDER BY id DESC LIMIT $4)
		SELECT (greatest(created_at, $3::date::timestamp AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::date, workflow_id,
			coalesce(max(workflow_slug), ''), count(*), min(created_at)
		FROM charged GROUP BY GROUPING SETS ((), (1), (workflow_id))`,
		orgID, core.FirstIDAt(period.Add(-maxChargeDelay)), period, MaxCountedRuns)
	if err != nil {
		return users.RunCounts{}, fmt.Errorf("count runs: %w", err)
	}
	counts := users.RunCounts{Days: make(map[string]int64)}
	var group runGroup
	row := []any{&group.day, &group.workflow, &group.slug, &group.runs, &group.first}
	_, err = pgx.ForEachRow(rows, row, func() error {
		group.addTo(&counts)
		return nil
	})
	if err != nil {
		return users.RunCounts{}, fmt.Errorf("count runs: %w", err)
	}
	return counts, nil
}

// runGroup counts the runs of a day, of a workflow, or all that were read.
type runGroup struct {
	day      *time.Time
	workflow *uuid.UUID
	slug     string
	runs     int64
	first    *time.Time
}

func (g runGroup) addTo(counts *users.RunCounts) {
	switch {
	case g.day != nil:
		counts.Days[g.day.Format(time.DateOnly)] = g.runs
	case g.workflow != nil:
		counts.Workflows = append(counts.Workflows, users.WorkflowRuns{ID: *g.workflow, Slug: g.slug, Runs: g.runs})
	case g.runs == MaxCountedRuns:
		counts.Since = g.first
	}
}
