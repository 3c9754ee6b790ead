package users

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// MetricRuns counts started runs.
const MetricRuns = "runs"

// MetricOverage counts runs beyond the quota, each charged through the billing service. It has no quota.
const MetricOverage = "runs_overage"

// Usage is a counter of the current period.
type Usage struct {
	OrgID  uuid.UUID
	Metric string
	// Period is the first day of the month, by the database's clock in UTC.
	Period time.Time
	Used   int64
	// Quota is nil when there is no limit.
	Quota *int64
}

// ResetsAt is the beginning of the next period.
func (u Usage) ResetsAt() time.Time {
	return u.Period.AddDate(0, 1, 0)
}

func (u Usage) full() bool {
	return u.Quota != nil && u.Used >= *u.Quota
}

// CountOverage counts one run beyond the quota and returns the period that it belongs to. It runs in the
// transaction that records the run's charge.
func CountOverage(ctx context.Context, tx db.Tx, orgID uuid.UUID) (time.Time, error) {
	var period time.Time
	err := tx.QueryRow(ctx, `
		INSERT INTO usage_counters (org_id, metric, period_start, used)
		VALUES ($1, $2, date_trunc('month', now() AT TIME ZONE 'UTC'), 1)
		ON CONFLICT ON CONSTRAINT usage_counters_pkey DO UPDATE SET used = usage_counters.used + 1
		RETURNING period_start`, orgID, MetricOverage).Scan(&period)
	if err != nil {
		return time.Time{}, fmt.Errorf("count a run beyond the quota: %w", err)
	}
	return period, nil
}

// Demand is a run that an organization may be charged for.
type Demand struct {
	OrgID uuid.UUID
	// Lock is the number of an advisory lock; nil for none. A demand whose lock is taken is void, so that it does not
	// wait for the counter in vain.
	Lock *int64
}

// PendingCounters are locks on usage counters that were queued. The counters are there once the batch was sent.
type PendingCounters struct {
	locked *db.Future[map[uuid.UUID]Usage]
}

// demandedOrgs are the organizations of the demands that are not void, as an array. The sub-select hides their number
// from the planner, which would otherwise make a new plan each time.
const demandedOrgs = `(
		SELECT array_agg(DISTINCT d.org_id) FROM unnest($1::uuid[], $2::bigint[]) AS d (org_id, lock)
		WHERE d.lock IS NULL OR pg_try_advisory_xact_lock(d.lock)
	)::uuid[]`

// openQuery opens the counters that are not there yet at the first start of a month: each takes the quota that the
// operator has set, and the lock lets no change of that quota slip in between. The sub-select that counts is no join,
// for which the planner could read all counters.
const openQuery = `
	INSERT INTO usage_counters (org_id, metric, period_start, used, quota)
	SELECT o.id, $3, date_trunc('month', now() AT TIME ZONE 'UTC'), 0, o.run_quota
	FROM organizations AS o
	WHERE o.id = ANY (` + demandedOrgs + `) AND (
		SELECT count(*) FROM usage_counters WHERE org_id = o.id AND metric = $3
			AND period_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date) = 0
	ORDER BY o.id FOR SHARE OF o
	ON CONFLICT DO NOTHING`

// QueueCounterLocks queues the lock on the counters, in the order of the organizations so that two transactions never
// wait for each other. Missing ones are opened before any is locked: whoever waits for the same counter to be opened
// must hold none that the other one is going to lock.
func QueueCounterLocks(batch *db.Batch, demands []Demand) *PendingCounters {
	if len(demands) == 0 {
		return &PendingCounters{locked: db.Known(map[uuid.UUID]Usage{})}
	}
	orgs := db.IDColumn(demands, func(d *Demand) *uuid.UUID { return &d.OrgID })
	locks := db.Column(demands, func(d *Demand) *int64 { return d.Lock })
	batch.Queue(openQuery, orgs, locks, MetricRuns)
	return &PendingCounters{locked: db.QueueInto(batch, readCounters, `
		SELECT org_id, metric, period_start, used, quota FROM usage_counters
		WHERE org_id = ANY (`+demandedOrgs+`) AND metric = $3
			AND period_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date
		ORDER BY org_id FOR UPDATE`, orgs, locks, MetricRuns)}
}

// Counters are usage counters, locked until the transaction ends.
type Counters struct {
	usage map[uuid.UUID]Usage
	// charged is by how much each counter has to be raised.
	charged map[uuid.UUID]int64
}

// Counters returns the counters that are locked.
func (p *PendingCounters) Counters() (Counters, error) {
	locked, err := p.locked.Get()
	return Counters{usage: maps.Clone(locked), charged: make(map[uuid.UUID]int64)}, err
}

// ChargeRun charges one run where the quota has room for it, and reports whether it has. What is refused costs nothing.
// The new count is written by Write. An organization without a counter was deleted since its request was authenticated.
func (c Counters) ChargeRun(orgID uuid.UUID) (Usage, bool, error) {
	counter, ok := c.usage[orgID]
	switch {
	case !ok:
		return Usage{}, false, core.NewError(core.CodeNotAuthenticated,
			"The organization of these credentials has been deleted. Nothing was started.")
	case counter.full():
		return counter, false, nil
	}
	counter.Used++
	c.usage[orgID] = counter
	c.charged[orgID]++
	return counter, true, nil
}

func readCounters(rows pgx.Rows) (map[uuid.UUID]Usage, error) {
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Usage])
	if err != nil {
		return nil, fmt.Errorf("lock usage counters: %w", err)
	}
	counters := make(map[uuid.UUID]Usage, len(found))
	for _, counter := range found {
		counters[counter.OrgID] = counter
	}
	return counters, nil
}

// fewCounters is up to how many counters are written one after the other. For an update of several at once the planner
// makes a new plan each time, which takes longer than a few updates of one.
const fewCounters = 4

// Write queues the new counts.
func (c Counters) Write(batch *db.Batch) {
	if len(c.charged) <= fewCounters {
		for orgID, amount := range c.charged {
			batch.Queue(`
				UPDATE usage_counters SET used = used + $4
				WHERE org_id = $1 AND metric = $2 AND period_start = $3`,
				orgID, MetricRuns, c.usage[orgID].Period, amount)
		}
		return
	}
	orgs, amounts := make([]uuid.UUID, 0, len(c.charged)), make([]int64, 0, len(c.charged))
	periods := make([]time.Time, 0, len(c.charged))
	for orgID, amount := range c.charged {
		orgs, amounts, periods = append(orgs, orgID), append(amounts, amount), append(periods, c.usage[orgID].Period)
	}
	batch.Queue(`
		UPDATE usage_counters AS u SET used = u.used + charged.amount
		FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS charged (org_id, period_start, amount)
		WHERE (u.org_id, u.metric, u.period_start)
			BETWEEN (charged.org_id, $4, charged.period_start) AND (charged.org_id, $4, charged.period_start)`,
		db.IDColumn(orgs, itself), periods, amounts, MetricRuns)
}

// RunCharge is a number of runs that an organization is to be charged for.
type RunCharge struct {
	OrgID uuid.UUID
	Runs  int64
}

// chargeQuery fails unless the counter of the period is there and has room, and the database agrees about the period.
const chargeQuery = `WITH charged AS (
		UPDATE usage_counters SET used = used + $4
		WHERE org_id = $1 AND metric = $2 AND period_start = $3 AND (quota IS NULL OR used + $4 <= quota)
			AND $3 = date_trunc('month', now() AT TIME ZONE 'UTC')::date
		RETURNING org_id)
	SELECT 1 / ((SELECT count(*) FROM charged) = 1)::int`

// chargesQuery is chargeQuery for several counters. The comparison of rows goes on to the later counters of the
// organization, which are few (docs/adr/0013-plans-without-statistics.md).
const chargesQuery = `WITH charged AS (
		UPDATE usage_counters AS u SET used = u.used + c.runs
		FROM unnest((SELECT $1::uuid[]), (SELECT $4::bigint[])) AS c (org_id, runs)
		WHERE (u.org_id, u.metric, u.period_start) BETWEEN (c.org_id, $2, $3::date) AND (c.org_id, $2, $3::date)
			AND (u.quota IS NULL OR u.used + c.runs <= u.quota)
			AND $3::date = date_trunc('month', now() AT TIME ZONE 'UTC')::date
		RETURNING u.org_id)
	SELECT 1 / ((SELECT count(*) FROM charged) = $5::int)::int`

// QueueRequiredCharges queues charges for a transaction that gives up, with an error that db.IsUnmet recognizes, unless
// each organization has room for its runs in a counter of this period that is open. An organization is named once. The
// counters are locked in the order of QueueCounterLocks.
func QueueRequiredCharges(batch *db.Batch, period time.Time, charges []RunCharge) {
	slices.SortFunc(charges, func(a, b RunCharge) int { return bytes.Compare(a.OrgID[:], b.OrgID[:]) })
	if len(charges) <= fewCounters {
		for _, c := range charges {
			batch.Queue(chargeQuery, c.OrgID, MetricRuns, period, c.Runs)
		}
		return
	}
	orgs := db.IDColumn(charges, func(c *RunCharge) *uuid.UUID { return &c.OrgID })
	runs := db.Column(charges, func(c *RunCharge) int64 { return c.Runs })
	batch.Queue(chargesQuery, orgs, MetricRuns, period, runs, len(charges))
}

// PeriodOf returns the period that a time belongs to.
func PeriodOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

func itself(id *uuid.UUID) *uuid.UUID {
	return id
}

// PaymentRequired says that the quota is used up and the charge for a run beyond it was declined.
func PaymentRequired() *core.Error {
	return core.NewError(core.CodePaymentRequired,
		"The quota is used up and the charge for a run beyond it was declined. Nothing was started. "+
			"Settle the account, then start with a new key.")
}

// QuotaExceeded says that the organization has used up its runs of the period.
func QuotaExceeded(usage Usage) *core.Error {
	var quota int64
	if usage.Quota != nil {
		quota = *usage.Quota
	}
	err := core.NewError(core.CodeQuotaExceeded, fmt.Sprintf(
		"%d of %d runs are used this month; the count resets at %s. Nothing was started.",
		usage.Used, quota, usage.ResetsAt().Format(time.RFC3339)))
	err.RetryAfter = max(time.Until(usage.ResetsAt()), time.Second)
	return err
}

// PeriodUsage is what an organization has used in the current period.
type PeriodUsage struct {
	Usage
	// Overage is how many runs beyond the quota were charged one by one.
	Overage int64
	// Today is the day by the database's clock in UTC.
	Today time.Time
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

// queueQuota queues the quota of the current period and of a later one, which a start opens when the month turns after
// this transaction has begun. What is used stays used: the quota never falls below it.
func queueQuota(batch *db.Batch, orgID uuid.UUID, quota *int64) {
	batch.Queue(`
		UPDATE usage_counters SET quota = greatest($2::bigint, CASE WHEN $2::bigint IS NOT NULL THEN used END)
		WHERE org_id = $1 AND metric = $3 AND period_start >= date_trunc('month', now() AT TIME ZONE 'UTC')::date`,
		orgID, quota, MetricRuns)
}
