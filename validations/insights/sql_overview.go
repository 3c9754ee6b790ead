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
)

const (
	// OverviewRuns bounds the runs that the overview counts. They are the newest.
	OverviewRuns = 10_000
	// overviewSpan is longer than the 24 hours of the overview, by the current one.
	overviewSpan = 25 * time.Hour
	// MaxLate bounds the late runs that are counted.
	MaxLate = 100
)

// HourResults counts the runs that were started in an hour, by result.
type HourResults struct {
	Hour   time.Time
	Passed int64
	Failed int64
	// Errors counts ERROR and TIMED_OUT: the service could not check the document.
	Errors int64
	// Other runs were canceled or have not ended.
	Other int64
	// Since is when the first run was started, or nil if there is none.
	Since *time.Time
}

// Total counts all runs of the hour.
func (h HourResults) Total() int64 {
	return h.Passed + h.Failed + h.Errors + h.Other
}

// Durations are the times from start to end of the runs that have ended in PASS or FAIL.
type Durations struct {
	Runs        int64
	Median, P95 time.Duration
	// Waited95 is the 95th percentile of the time before their execution.
	Waited95 time.Duration
}

// LateRuns counts overdue runs, up to MaxLate.
type LateRuns struct {
	Pending, Running int64
}

// Verdicts counts the runs that have ended in PASS or FAIL.
type Verdicts struct {
	Passed, Failed int64
}

// FailingWorkflow counts the failed runs of a workflow among those that have ended in PASS or FAIL.
type FailingWorkflow struct {
	Slug          string
	Failed, Ended int64
}

// TopRule is a rule that the documents of a workflow have failed.
type TopRule struct {
	Workflow string
	FailingRule
}

// topFailing bounds the failing workflows and rules of the overview.
const topFailing = 5

// Overview summarizes the newest runs of the last 24 hours.
type Overview struct {
	Hours []HourResults
	// Before counts the verdicts of the 24 hours before the first of the hours.
	Before Verdicts
	// Failing are the workflows with the most failed runs, most first.
	Failing []FailingWorkflow
	// Rules are what fails most often in the newest failed runs, at most 50.
	Rules []TopRule
	Took  Durations
	Late  LateRuns
}

// Overview reads the overview of the organization in one round trip.
func (r *Reader) Overview(ctx context.Context, orgID uuid.UUID) (Overview, error) {
	var found Overview
	var reads db.Reads
	// The database's clock decides which hours these are. The id only bounds the scan.
	from := core.FirstIDAt(time.Now().Add(-overviewSpan))
	reads.Queue(db.AllInto(&found.Hours, func(row pgx.CollectableRow) (HourResults, error) {
		return scanHour(row, &found.Took)
	}), `
		WITH span AS (SELECT date_trunc('hour', now(), 'UTC') - interval '23 hours' AS first),
		newest AS (
			SELECT r.created_at, r.started_at, r.ended_at, r.result FROM span CROSS JOIN validation_runs AS r
			WHERE r.org_id = $1 AND r.id >= $2 AND r.created_at >= span.first ORDER BY r.id DESC LIMIT $3),
		hours AS (
			SELECT h.hour, count(*) FILTER (WHERE n.result = 'PASS'), count(*) FILTER (WHERE n.result = 'FAIL'),
				count(*) FILTER (WHERE n.result IN ('ERROR', 'TIMED_OUT')),
				count(*) FILTER (WHERE n.result IN ('CANCELED', 'UNKNOWN')), min(n.created_at)
			FROM span
			CROSS JOIN generate_series(span.first, span.first + interval '23 hours', interval '1 hour') AS h (hour)
			LEFT JOIN newest AS n ON date_trunc('hour', n.created_at, 'UTC') = h.hour
			GROUP BY h.hour),
		verdicts AS (
			SELECT extract(epoch FROM ended_at - created_at)::float8 AS took,
				extract(epoch FROM started_at - created_at)::float8 AS waited
			FROM newest WHERE result IN ('PASS', 'FAIL')),
		took AS (
			SELECT count(*), coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY took), 0),
				coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY took), 0),
				coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY waited), 0)
			FROM verdicts)
		SELECT hours.*, took.* FROM hours CROSS JOIN took ORDER BY hours.hour`, orgID, from, OverviewRuns)
	reads.Queue(db.OneInto(&found.Before, pgx.RowToStructByPos[Verdicts]), `
		SELECT count(*) FILTER (WHERE result = 'PASS'), count(*) FILTER (WHERE result = 'FAIL')
		FROM (
			SELECT result FROM validation_runs
			WHERE org_id = $1 AND id >= $2 AND id < $3
				AND created_at >= date_trunc('hour', now(), 'UTC') - interval '47 hours'
				AND created_at < date_trunc('hour', now(), 'UTC') - interval '23 hours'
			ORDER BY id DESC LIMIT $4) AS before`,
		orgID, core.FirstIDAt(time.Now().Add(-2*overviewSpan)), core.FirstIDAt(time.Now().Add(-22*time.Hour)),
		OverviewRuns)
	reads.Queue(db.AllInto(&found.Failing, pgx.RowToStructByPos[FailingWorkflow]), `
		SELECT workflow_slug, count(*) FILTER (WHERE result = 'FAIL'), count(*)
		FROM (
			SELECT workflow_slug, result FROM validation_runs
			WHERE org_id = $1 AND id >= $2 AND created_at >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
			ORDER BY id DESC LIMIT $3) AS newest
		WHERE result IN ('PASS', 'FAIL')
		GROUP BY workflow_slug HAVING count(*) FILTER (WHERE result = 'FAIL') > 0
		ORDER BY 2 DESC, 1 LIMIT $4`, orgID, from, OverviewRuns, topFailing)
	queueTopRules(&reads, orgID, from, &found.Rules)
	reads.Queue(db.OneInto(&found.Late, pgx.RowToStructByPos[LateRuns]), `
		SELECT count(*) FILTER (WHERE state = 'PENDING'), count(*) FILTER (WHERE state = 'RUNNING')
		FROM (SELECT state FROM (
				SELECT org_id, state FROM validation_runs WHERE `+isLate+` ORDER BY sweep_after LIMIT $3) AS overdue
			WHERE org_id = $1 LIMIT $2) AS late`, orgID, MaxLate, OverviewRuns)
	if err := r.db.Read(ctx, &reads); err != nil {
		return Overview{}, fmt.Errorf("read the newest runs: %w", err)
	}
	return found, nil
}

// queueTopRules finds the rules that fail most often.
func queueTopRules(reads *db.Reads, orgID, from uuid.UUID, found *[]TopRule) {
	reads.Queue(db.AllInto(found, func(row pgx.CollectableRow) (TopRule, error) {
		var r TopRule
		err := row.Scan(&r.Workflow, &r.Rule, &r.Message, &r.Runs, &r.Newest)
		return r, err
	}), `
		WITH newest AS (
			SELECT id, workflow_slug, result FROM validation_runs
			WHERE org_id = $1 AND id >= $2 AND created_at >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
			ORDER BY id DESC LIMIT $3),
		failed AS (SELECT id, workflow_slug FROM newest WHERE result = 'FAIL' ORDER BY id DESC LIMIT $4),
		found AS (
			SELECT failed.workflow_slug, failed.id, f.rule, min(f.message) AS message FROM failed
			CROSS JOIN LATERAL (SELECT coalesce(nullif(assertion_id, ''), code) AS rule, message FROM findings
				WHERE org_id = $1 AND run_id = failed.id AND ordinal <= $5 AND severity = 'ERROR' OFFSET 0) AS f
			GROUP BY failed.workflow_slug, failed.id, f.rule)
		SELECT workflow_slug, rule, min(message), count(*), (array_agg(id ORDER BY id DESC))[:3]
		FROM found GROUP BY workflow_slug, rule ORDER BY count(*) DESC, workflow_slug, rule LIMIT $6`,
		orgID, from, OverviewRuns, failedRuns, ruleFindings, topFailing)
}

// scanHour reads an hour, and the durations of all hours, which each row repeats.
func scanHour(row pgx.CollectableRow, d *Durations) (HourResults, error) {
	var h HourResults
	var median, p95, waited float64
	err := row.Scan(&h.Hour, &h.Passed, &h.Failed, &h.Errors, &h.Other, &h.Since, &d.Runs, &median, &p95, &waited)
	d.Median, d.P95, d.Waited95 = core.Seconds(median), core.Seconds(p95), core.Seconds(waited)
	return h, err
}

// LateRun is an overdue run of any organization.
type LateRun struct {
	OrgID     uuid.UUID
	ID        uuid.UUID
	Workflow  string
	State     api.RunState
	Attempts  int64
	CreatedAt time.Time
}

// isLate is the condition of overdue runs: they were swept at least once or are due for a sweep, and have no lease.
const isLate = `sweep_after < 'infinity' AND (sweeps > 0 OR sweep_after < now() - interval '1 minute')
	AND (lease_until IS NULL OR lease_until <= now())`

// LateEverywhere lists overdue runs of all organizations for operators, in the order of their sweeps.
func (r *Reader) LateEverywhere(ctx context.Context, limit int) ([]LateRun, error) {
	runs, err := db.All(ctx, r.db.Pool, pgx.RowToStructByPos[LateRun], `
		SELECT org_id, id, workflow_slug, state, attempts, created_at FROM validation_runs
		WHERE `+isLate+` ORDER BY sweep_after LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list late runs: %w", err)
	}
	return runs, nil
}

// workloadLimit bounds how many unfinished runs are counted.
const workloadLimit = 10_000

// Workload counts the unfinished runs of all organizations, up to 10,000 of them.
type Workload struct {
	// Pending runs wait for a worker, the oldest of them since OldestPending.
	Pending       int64
	OldestPending time.Duration
	// Executing runs have a living worker.
	Executing int64
}

// Workload reads how much there is to do.
func (r *Reader) Workload(ctx context.Context) (Workload, error) {
	var found Workload
	var oldest float64
	err := r.db.Pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE state = 'PENDING'), count(*) FILTER (WHERE lease_until > now()),
			coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE state = 'PENDING')), 0)::float8
		FROM (
			SELECT state, created_at, lease_until FROM validation_runs
			WHERE sweep_after < 'infinity' ORDER BY sweep_after LIMIT $1
		) AS unfinished`, workloadLimit).Scan(&found.Pending, &found.Executing, &oldest)
	if err != nil {
		return Workload{}, fmt.Errorf("count the unfinished runs: %w", err)
	}
	found.OldestPending = core.Seconds(oldest)
	return found, nil
}
