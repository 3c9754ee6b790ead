package insights

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/users/quota"
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
// that has not ended has api.RunResultUnknown.
func (r *Reader) RecentResults(
	ctx context.Context, orgID uuid.UUID, workflowIDs []uuid.UUID, count int,
) (map[uuid.UUID][]api.RunResult, error) {
	results := make(map[uuid.UUID][]api.RunResult)
	var workflowID uuid.UUID
	var result api.RunResult
	err := db.Each(ctx, r.db.Pool, []any{&workflowID, &result}, func() error {
		results[workflowID] = append(results[workflowID], result)
		return nil
	}, `
		SELECT w.id, newest.result FROM unnest($2::uuid[]) AS w (id)
		CROSS JOIN LATERAL (SELECT id, result FROM validation_runs
			WHERE workflow_id = w.id AND org_id IS NOT DISTINCT FROM $1
			ORDER BY id DESC LIMIT $3) AS newest
		ORDER BY newest.id DESC`, orgID, workflowIDs, count)
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
func (r *Reader) ResultsByDay(ctx context.Context, orgID, workflowID uuid.UUID, days int) ([]DayResults, error) {
	// The database's clock decides which days these are. The id only bounds the scan.
	from := core.FirstIDAt(time.Now().AddDate(0, 0, -days-1))
	results, err := db.All(ctx, r.db.Pool, pgx.RowToStructByPos[DayResults], `
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
func (r *Reader) FailingRules(ctx context.Context, orgID, workflowID uuid.UUID) ([]FailingRule, int64, error) {
	var rules []FailingRule
	var rule FailingRule
	var failed int64
	err := db.Each(ctx, r.db.Pool, []any{&rule.Rule, &rule.Message, &rule.Runs, &rule.Newest, &failed}, func() error {
		rules = append(rules, rule)
		rule.Newest = nil
		return nil
	}, `
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
	return rules, failed, nil
}

// MaxCountedRuns bounds the runs that CountRuns reads. They are the newest.
const MaxCountedRuns = 100_000

// maxChargeDelay is how long before its period a run may have been created: a held run is charged when its charge is
// decided.
const maxChargeDelay = 24 * time.Hour

// CountRuns counts the runs that the organization was charged in a period, by day and by workflow. It needs no counters
// that every start would have to update: the primary key leads to the newest runs, because ids begin with a time.
func (r *Reader) CountRuns(ctx context.Context, orgID uuid.UUID, period time.Time) (quota.RunCounts, error) {
	counts := quota.RunCounts{Days: make(map[string]int64)}
	var group runGroup
	row := []any{&group.day, &group.workflow, &group.slug, &group.runs, &group.first}
	err := db.Each(ctx, r.db.Pool, row, func() error {
		group.addTo(&counts)
		return nil
	}, `
		WITH charged AS (
			SELECT workflow_id, workflow_slug, created_at FROM validation_runs
			WHERE org_id = $1 AND id >= $2 AND usage_period = $3 AND usage_metric <> '' ORDER BY id DESC LIMIT $4)
		SELECT (greatest(created_at, $3::date::timestamp AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::date, workflow_id,
			coalesce(max(workflow_slug), ''), count(*), min(created_at)
		FROM charged GROUP BY GROUPING SETS ((), (1), (workflow_id))`,
		orgID, core.FirstIDAt(period.Add(-maxChargeDelay)), period, MaxCountedRuns)
	if err != nil {
		return quota.RunCounts{}, fmt.Errorf("count runs: %w", err)
	}
	return counts, nil
}

// runGroup is the count of the runs of a day, of a workflow, or of all.
type runGroup struct {
	day      *time.Time
	workflow *uuid.UUID
	slug     string
	runs     int64
	first    *time.Time
}

func (g runGroup) addTo(counts *quota.RunCounts) {
	switch {
	case g.day != nil:
		counts.Days[g.day.Format(time.DateOnly)] = g.runs
	case g.workflow != nil:
		counts.Workflows = append(counts.Workflows, quota.WorkflowRuns{ID: *g.workflow, Slug: g.slug, Runs: g.runs})
	case g.runs == MaxCountedRuns:
		counts.Since = g.first
	}
}

const (
	// maxUnkeyedRuns bounds the runs of the last day that are scanned. They are the newest.
	maxUnkeyedRuns = 10_000
	// maxDuplicates bounds the list of likely duplicates.
	maxDuplicates = 5
	// duplicateWithin is how soon after a run a second one on the same document counts as a likely duplicate.
	duplicateWithin = 10 * time.Minute
)

// latestQuery selects the runs to scan, without reruns, which are no duplicates. $1 is the organization, $2 the first
// id of the last day, and $3 the limit.
const latestQuery = `
	WITH latest AS (
		SELECT org_id, id, workflow_id, workflow_slug, submission_id, idempotency_key, created_at FROM validation_runs
		WHERE org_id = $1 AND id >= $2 AND rerun_of IS NULL ORDER BY id DESC LIMIT $3)`

// QueueUnkeyedRuns counts the organization's latest runs that were started without an idempotency key, and lists those
// that are likely duplicates. found is complete once the reads were sent.
func (r *Reader) QueueUnkeyedRuns(reads *db.Reads, orgID uuid.UUID, found *admin.UnkeyedRuns) {
	since := core.FirstIDAt(time.Now().Add(-24 * time.Hour))
	reads.Queue(db.OneInto(found, scanUnkeyedRuns), latestQuery+`
		SELECT count(*), count(*) FILTER (WHERE idempotency_key = '') FROM latest`, orgID, since, maxUnkeyedRuns)
	reads.Queue(db.AllInto(&found.Duplicates, scanDuplicate), latestQuery+`
		SELECT id, earlier, workflow_slug, filename, created_at, extract(epoch FROM created_at - before)::float8 FROM (
			SELECT r.id, r.workflow_slug, u.filename, r.created_at, lag(r.id) OVER same AS earlier,
				lag(r.created_at) OVER same AS before
			FROM latest AS r
			CROSS JOIN LATERAL (SELECT filename, sha256 FROM submissions
				WHERE org_id = r.org_id AND id = r.submission_id LIMIT 1) AS u
			WHERE r.idempotency_key = ''
			WINDOW same AS (PARTITION BY r.workflow_id, u.sha256 ORDER BY r.id)) AS pairs
		WHERE created_at - before < make_interval(secs => $4)
		ORDER BY id DESC LIMIT $5`,
		orgID, since, maxUnkeyedRuns, duplicateWithin.Seconds(), maxDuplicates)
}

func scanUnkeyedRuns(row pgx.CollectableRow) (admin.UnkeyedRuns, error) {
	var w admin.UnkeyedRuns
	err := row.Scan(&w.Runs, &w.Unkeyed)
	return w, err
}

func scanDuplicate(row pgx.CollectableRow) (admin.DuplicateRun, error) {
	var d admin.DuplicateRun
	var after float64
	err := row.Scan(&d.Run, &d.Earlier, &d.Workflow, &d.Filename, &d.At, &after)
	d.After = core.Seconds(after)
	return d, err
}
