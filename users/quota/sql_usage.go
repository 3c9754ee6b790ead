package quota

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// TokenRuns counts the runs that a token has started; the zero UUID stands for the dashboard.
type TokenRuns struct {
	ID    uuid.UUID
	Label string
	Runs  int64
}

// maxCountedStarts bounds what a count of starts reads. Beyond it only the newest are counted.
const maxCountedStarts = 100_000

// startsByToken counts the starts of a period by token. It needs no index of its own, which starts would pay for: ids
// begin with their time, so the primary key leads to the newest records.
func (s *Service) startsByToken(ctx context.Context, orgID uuid.UUID, period time.Time) ([]TokenRuns, error) {
	found, err := db.All(ctx, s.db.Pool, pgx.RowToStructByPos[TokenRuns], `
		WITH starts AS (
			SELECT token_id FROM audit_records WHERE org_id = $1 AND id >= $2 AND action IN ('run.start', 'run.rerun')
			ORDER BY id DESC LIMIT $3)
		SELECT coalesce(s.token_id, '00000000-0000-0000-0000-000000000000'::uuid), coalesce(max(t.label), ''), count(*)
		FROM starts AS s LEFT JOIN api_tokens AS t ON t.org_id = $1 AND t.id = s.token_id
		GROUP BY s.token_id ORDER BY count(*) DESC, 1`, orgID, core.FirstIDAt(period), maxCountedStarts)
	if err != nil {
		return nil, fmt.Errorf("count starts: %w", err)
	}
	return found, nil
}

// PeriodUsage is what an organization has used in the current period.
type PeriodUsage struct {
	Usage
	// Overage is how many runs beyond the quota were charged one by one.
	Overage int64
	// Today is the day by the database's clock in UTC.
	Today time.Time
}

// Left is the rest of the quota; 0 if there is no quota.
func (u PeriodUsage) Left() int64 {
	if u.Quota == nil {
		return 0
	}
	return max(*u.Quota-u.Used, 0)
}

// RunCounts counts the runs of a period by day and by workflow.
type RunCounts struct {
	// Days counts by the day, written like 2026-03-01. Days without runs may be missing.
	Days      map[string]int64
	Workflows []WorkflowRuns
	// Since is when the first run was started that is counted; nil when all of the period's are.
	Since *time.Time
}

// WorkflowRuns counts the runs of one workflow.
type WorkflowRuns struct {
	ID   uuid.UUID
	Slug string
	Runs int64
}

// RunUsage reads the counters of the current period.
func (s *Service) RunUsage(ctx context.Context, orgID uuid.UUID) (PeriodUsage, error) {
	usage := PeriodUsage{Usage: Usage{OrgID: orgID, Metric: MetricRuns}}
	err := s.db.Pool.QueryRow(ctx, `
		SELECT p.period, p.today, coalesce(u.used, 0), CASE WHEN u.org_id IS NULL THEN o.run_quota ELSE u.quota END,
			coalesce(beyond.used, 0)
		FROM organizations AS o
		CROSS JOIN (SELECT date_trunc('month', t.day)::date AS period, t.day AS today
			FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS day) AS t) AS p
		LEFT JOIN usage_counters AS u ON u.org_id = o.id AND u.metric = $2 AND u.period_start = p.period
		LEFT JOIN usage_counters AS beyond
			ON beyond.org_id = o.id AND beyond.metric = $3 AND beyond.period_start = p.period
		WHERE o.id = $1`, orgID, MetricRuns, MetricOverage).
		Scan(&usage.Period, &usage.Today, &usage.Used, &usage.Quota, &usage.Overage)
	if err != nil {
		return PeriodUsage{}, fmt.Errorf("read usage: %w", err)
	}
	return usage, nil
}
