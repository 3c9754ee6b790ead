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
	// dayRuns bounds how many of a workflow's runs are counted by day; the newest are.
	dayRuns = 5000
	// ruleRuns is how many of a workflow's newest runs are looked at for failed ones, and failedRuns how many of these
	// tell which rules fail.
	ruleRuns   = 500
	failedRuns = 50
	// ruleFindings is how many findings of a step tell which rules fail, and topRules how many rules are listed.
	ruleFindings = 200
	topRules     = 5
)

// RecentResults are the results of the newest runs of each workflow, newest first and at most count of them. A run that
// has not ended is ResultUnknown.
func (s *Service) RecentResults(
	ctx context.Context, orgID uuid.UUID, workflowIDs []uuid.UUID, count int,
) (map[uuid.UUID][]RunResult, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT w.id, newest.result FROM unnest($2::uuid[]) AS w (id)
		CROSS JOIN LATERAL (SELECT id, result FROM validation_runs
			WHERE org_id = $1 AND workflow_id = w.id ORDER BY id DESC LIMIT $3) AS newest
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

// DayResults counts the runs of a day by their results.
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
	// The database says which days these are; the id only keeps older runs from being read.
	from := core.FirstIDAt(time.Now().AddDate(0, 0, -days-1))
	rows, err := s.db.Pool.Query(ctx, `
		WITH newest AS (
			SELECT (created_at AT TIME ZONE 'UTC')::date AS day, result FROM validation_runs
			WHERE org_id = $1 AND workflow_id = $2 AND id >= $3 ORDER BY id DESC LIMIT $4),
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
	// Rule is the id of the rule, or the code of the finding where no rule has made it.
	Rule string
	// Message is that of one finding.
	Message string
	// Runs is how many of the runs that were looked at have failed the rule.
	Runs int64
}

// FailingRules lists which rules fail most among the newest failed runs of a workflow, and how many such runs there
// are: at most 50, among the newest 500 of all.
func (s *Service) FailingRules(ctx context.Context, orgID, workflowID uuid.UUID) ([]FailingRule, int64, error) {
	rows, err := s.db.Pool.Query(ctx, `
		WITH newest AS (
			SELECT id, result FROM validation_runs WHERE org_id = $1 AND workflow_id = $2 ORDER BY id DESC LIMIT $3),
		failed AS (SELECT id FROM newest WHERE result = 'FAIL' ORDER BY id DESC LIMIT $4),
		found AS (
			SELECT failed.id, f.rule, min(f.message) AS message FROM failed
			CROSS JOIN LATERAL (SELECT coalesce(nullif(assertion_id, ''), code) AS rule, message FROM findings
				WHERE org_id = $1 AND run_id = failed.id AND ordinal <= $5 AND severity = 'ERROR') AS f
			GROUP BY failed.id, f.rule)
		SELECT rule, min(message), count(*), (SELECT count(*) FROM failed)
		FROM found GROUP BY rule ORDER BY count(*) DESC, rule LIMIT $6`,
		orgID, workflowID, ruleRuns, failedRuns, ruleFindings, topRules)
	if err != nil {
		return nil, 0, fmt.Errorf("count what fails in workflow %s: %w", workflowID, err)
	}
	var rules []FailingRule
	var rule FailingRule
	var failed int64
	_, err = pgx.ForEachRow(rows, []any{&rule.Rule, &rule.Message, &rule.Runs, &failed}, func() error {
		rules = append(rules, rule)
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("count what fails in workflow %s: %w", workflowID, err)
	}
	return rules, failed, nil
}
