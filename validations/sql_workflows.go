package validations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// dayRuns bounds the runs of a workflow that are counted by day. They are the newest.
	dayRuns = 5000
	// ruleRuns bounds the newest runs of a workflow among which failed ones are looked for, and failedRuns bounds the
	// failed runs whose rules are counted.
	ruleRuns   = 500
	failedRuns = 50
	// ruleFindings bounds the findings of a step that are counted, and topRules bounds the list.
	ruleFindings = 200
	topRules     = 5
)

// RecentResults reads the results of the newest runs of each workflow, newest first and at most count of each. A run
// that has not ended has ResultUnknown.
func (s *Service) RecentResults(
	ctx context.Context, orgID uuid.UUID, workflowIDs []uuid.UUID, count int,
) (map[uuid.UUID][]RunResult, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT w.id, newest.result FROM unnest($2::uuid[]) AS w (id)
		CROSS JOIN LATERAL (SELECT id, result FROM validation_runs
			WHERE workflow_id = w.id AND org_id IS NOT DISTINCT FROM $1
			ORDER BY id DESC LIMIT $3) AS newest
		ORDER BY newest.id DESC`, orgID, workflowIDs, count)
	if err != nil {
		return nil, fmt.Errorf("read the results of workflows: %w", err)
	}
	results := make(map[uuid.UUID][]RunResult)
	var workflowID uuid.UUID
	var result RunResult
	_, err = pgx.ForEachRow(rows, []any{&workflowID, &result}, func() error {
		results[workflowID] = append(results[workflowID], result)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the results of workflows: %w", err)
	}
	return results, nil
}

// DayResults counts the runs of a day, by result.
type DayResults struct {
	Day    time.Time
	Passed int64
	Failed int64
	// Other runs have ended in an error, were canceled, took too long, or have not ended.
	Other int64
}

// ResultsByDay counts a workflow's runs of the last days, today included, from the oldest day to the newest. Days
// without runs are there too. No more than the newest 5,000 runs are counted.
func (s *Service) ResultsByDay(ctx context.Context, orgID, workflowID uuid.UUID, days int) ([]DayResults, error) {
	// The database's clock decides which days these are. The id only bounds the scan.
	from := core.FirstIDAt(time.Now().AddDate(0, 0, -days-1))
	rows, err := s.db.Pool.Query(ctx, `
		WITH newest AS (
			SELECT (created_at AT TIME ZONE 'UTC')::date AS day, result FROM validation_runs
			WHERE workflow_id = $2 AND org_id IS NOT DISTINCT FROM $1 AND id >= $3
			ORDER BY id DESC LIMIT $4),
		today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day)
		SELECT d.day::date, count(*) FILTER (WHERE newest.result = 'PASS'),
			count(*) FILTER (WHERE newest.result = 'FAIL'),
			count(*) FILTER (WHERE newest.result NOT IN ('PASS', 'FAIL'))
		FROM today CROSS JOIN generate_series(today.day - ($5::int - 1), today.day, interval '1 day') AS d (day)
		LEFT JOIN newest ON newest.day = d.day::date
		GROUP BY d.day ORDER BY d.day`, orgID, workflowID, from, dayRuns, days)
	if err != nil {
		return nil, fmt.Errorf("count the results of workflow %s: %w", workflowID, err)
	}
	results, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DayResults])
	if err != nil {
		return nil, fmt.Errorf("count the results of workflow %s: %w", workflowID, err)
	}
	return results, nil
}

// FailingRule is a rule that documents have failed.
type FailingRule struct {
	// Rule is the id of the rule, or the code of a finding that no rule has made.
	Rule string
	// Message is the message of one of the findings.
	Message string
	// Runs is how many of the scanned runs have failed the rule.
	Runs int64
	// Newest are the latest of them, newest first and at most three.
	Newest []uuid.UUID
}

// FailingRules lists the rules that fail most often in a workflow. It scans the failed runs among the newest 500, at
// most 50, and returns how many there are.
func (s *Service) FailingRules(ctx context.Context, orgID, workflowID uuid.UUID) ([]FailingRule, int64, error) {
	rows, err := s.db.Pool.Query(ctx, `
		WITH newest AS (
			SELECT id, result FROM validation_runs WHERE workflow_id = $2 AND org_id IS NOT DISTINCT FROM $1
			ORDER BY id DESC LIMIT $3),
		failed AS (SELECT id FROM newest WHERE result = 'FAIL' ORDER BY id DESC LIMIT $4),
		found AS (
			SELECT failed.id, f.rule, min(f.message) AS message FROM failed
			CROSS JOIN LATERAL (SELECT coalesce(nullif(assertion_id, ''), code) AS rule, message FROM findings
				WHERE org_id = $1 AND run_id = failed.id AND ordinal <= $5 AND severity = 'ERROR' OFFSET 0) AS f
			GROUP BY failed.id, f.rule)
		SELECT rule, min(message), count(*), (array_agg(id ORDER BY id DESC))[:3], (SELECT count(*) FROM failed)
		FROM found GROUP BY rule ORDER BY count(*) DESC, rule LIMIT $6`,
		orgID, workflowID, ruleRuns, failedRuns, ruleFindings, topRules)
	if err != nil {
		return nil, 0, fmt.Errorf("count what fails in workflow %s: %w", workflowID, err)
	}
	var rules []FailingRule
	var rule FailingRule
	var failed int64
	_, err = pgx.ForEachRow(rows, []any{&rule.Rule, &rule.Message, &rule.Runs, &rule.Newest, &failed}, func() error {
		rules = append(rules, rule)
		rule.Newest = nil
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("count what fails in workflow %s: %w", workflowID, err)
	}
	return rules, failed, nil
}
