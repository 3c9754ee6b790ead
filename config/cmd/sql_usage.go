package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// usageRow is the usage of an organization, or of one of its workflows, in a month.
type usageRow struct {
	Month        string    `json:"month"`
	Organization string    `json:"organization"`
	ID           uuid.UUID `json:"organization_id"`
	Metric       string    `json:"metric"`
	// Workflow and WorkflowID are nil for the whole organization.
	Workflow   *string    `json:"workflow,omitempty"`
	WorkflowID *uuid.UUID `json:"workflow_id,omitempty"`
	Used       int64      `json:"used"`
	// Quota is nil for unlimited, and for a workflow.
	Quota *int64 `json:"quota"`
}

// months are the first and the last month of an export; nil is no bound.
type months struct {
	from, to *time.Time
}

// exportUsage reads the counters of all organizations, oldest month first.
func exportUsage(ctx context.Context, database *db.DB, period months, write func(*usageRow) error) error {
	return streamUsage(ctx, database, `
		SELECT to_char(c.period_start, 'YYYY-MM'), o.slug, o.id, c.metric, NULL::text, NULL::uuid, c.used, c.quota
		FROM usage_counters AS c JOIN organizations AS o ON o.id = c.org_id
		WHERE c.period_start >= coalesce($1::date, '-infinity') AND c.period_start <= coalesce($2::date, 'infinity')
		ORDER BY c.period_start, o.slug, c.metric`, period, write)
}

// exportUsageByWorkflow counts the charged runs of each workflow. It reads all runs, because no start updates a counter
// of its workflow. A workflow has the slug that its newest run was started with.
func exportUsageByWorkflow(ctx context.Context, database *db.DB, period months, write func(*usageRow) error) error {
	return streamUsage(ctx, database, `
		SELECT to_char(u.usage_period, 'YYYY-MM'), o.slug, o.id, u.usage_metric,
			(SELECT n.workflow_slug FROM validation_runs AS n WHERE n.org_id = u.org_id AND n.id = u.newest),
			u.workflow_id, u.runs, NULL::bigint
		FROM (
			SELECT org_id, usage_period, usage_metric, workflow_id, count(*) AS runs,
				(max(id::text))::uuid AS newest
			FROM validation_runs
			WHERE usage_metric <> '' AND usage_period >= coalesce($1::date, '-infinity')
				AND usage_period <= coalesce($2::date, 'infinity')
			GROUP BY 1, 2, 3, 4) AS u
		JOIN organizations AS o ON o.id = u.org_id
		ORDER BY u.usage_period, o.slug, u.usage_metric, u.runs DESC, u.workflow_id`, period, write)
}

func streamUsage(
	ctx context.Context, database *db.DB, query string, period months, write func(*usageRow) error,
) error {
	var row usageRow
	err := db.Each(db.Unlimited(ctx), database.Pool, []any{
		&row.Month, &row.Organization, &row.ID, &row.Metric, &row.Workflow, &row.WorkflowID, &row.Used, &row.Quota,
	}, func() error { return write(&row) }, query, period.from, period.to)
	if err != nil {
		return fmt.Errorf("export the usage: %w", err)
	}
	return nil
}
