package users

import (
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

// Grant is the decision on one demand.
type Grant struct {
	Granted bool
	// Usage is the counter as it stands after the decision. It belongs to nobody when the organization is gone.
	Usage Usage
}

// Refusal says why a demand was not granted.
func (g Grant) Refusal() *core.Error {
	if g.Usage.OrgID == uuid.Nil {
		return core.NewError(core.CodeNotAuthenticated,
			"The organization of these credentials has been deleted. Nothing was started.")
	}
	return QuotaExceeded(g.Usage)
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

// Counters are usage counters of organizations, locked until the transaction ends.
type Counters map[uuid.UUID]Usage

// Demand is a run that an organization may be charged for.
type Demand struct {
	OrgID uuid.UUID
	// Lock is the number of an advisory lock without which the demand is void, so that nobody waits for the counter
	// in vain; nil when there is none.
	Lock *int64
}

// LockCounters queues the lock on the counters, in the order of the organizations so that two transactions never wait
// for each other.
func LockCounters(batch *db.Batch, demands []Demand) Counters {
	c := make(Counters, len(demands))
	// Behind the sub-select the planner does not see how many there are, which it would make a new plan for each time.
	batch.QueueRows(c.read, `
		SELECT org_id, metric, period_start, used, quota FROM usage_counters
		WHERE org_id = ANY ((
				SELECT array_agg(DISTINCT d.org_id) FROM unnest($1::uuid[], $2::bigint[]) AS d (org_id, lock)
				WHERE d.lock IS NULL OR pg_try_advisory_xact_lock(d.lock)
			)::uuid[]) AND metric = $3
			AND period_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date
		ORDER BY org_id FOR UPDATE`,
		db.IDColumn(demands, func(d *Demand) *uuid.UUID { return &d.OrgID }),
		db.Column(demands, func(d *Demand) *int64 { return d.Lock }), MetricRuns)
	return c
}

// ChargeRuns charges one run for each demand, in the order given, as far as the quotas allow; what is refused costs
// nothing and harms nobody else. The new counts are written by the batch, which has to be sent.
func ChargeRuns(ctx context.Context, tx db.Tx, batch *db.Batch, demands []uuid.UUID) ([]Grant, error) {
	locking := tx.NewBatch()
	counters := LockCounters(locking, unconditional(demands))
	if err := locking.Send(ctx); err != nil {
		return nil, err
	}
	return counters.ChargeRuns(ctx, tx, batch, demands)
}

// ChargeRuns is the function of that name for counters whose lock has been sent.
func (c Counters) ChargeRuns(
	ctx context.Context, tx db.Tx, batch *db.Batch, demands []uuid.UUID,
) ([]Grant, error) {
	if err := c.complete(ctx, tx, demands); err != nil {
		return nil, err
	}
	grants := make([]Grant, len(demands))
	charged := make(map[uuid.UUID]int64)
	for i, orgID := range demands {
		counter, found := c[orgID]
		if !found {
			continue
		}
		if !counter.full() {
			counter.Used++
			charged[orgID]++
			grants[i].Granted = true
		}
		c[orgID] = counter
		grants[i].Usage = counter
	}
	addUsage(batch, c, charged)
	return grants, nil
}

// complete opens the counters that are not there yet at the first start of a month: each takes the quota that the
// operator has set. The lock lets no change of that quota slip between its reading and the counter. An organization
// that was deleted since its request was authenticated stays without a counter, and the others are charged as ever.
func (c Counters) complete(ctx context.Context, tx db.Tx, orgs []uuid.UUID) error {
	if c.has(orgs) {
		return nil
	}
	batch := tx.NewBatch()
	batch.Queue(`
		INSERT INTO usage_counters (org_id, metric, period_start, used, quota)
		SELECT id, $2, date_trunc('month', now() AT TIME ZONE 'UTC'), 0, run_quota
		FROM organizations WHERE id = ANY ($1)
		ORDER BY id FOR SHARE
		ON CONFLICT DO NOTHING`, orgs, MetricRuns)
	opened := LockCounters(batch, unconditional(orgs))
	if err := batch.Send(ctx); err != nil {
		return fmt.Errorf("open usage counters: %w", err)
	}
	maps.Copy(c, opened)
	return nil
}

func (c Counters) has(orgs []uuid.UUID) bool {
	return !slices.ContainsFunc(orgs, func(orgID uuid.UUID) bool {
		_, ok := c[orgID]
		return !ok
	})
}

func (c Counters) read(rows pgx.Rows) error {
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Usage])
	if err != nil {
		return fmt.Errorf("lock usage counters: %w", err)
	}
	for _, counter := range found {
		c[counter.OrgID] = counter
	}
	return nil
}

func unconditional(orgs []uuid.UUID) []Demand {
	demands := make([]Demand, len(orgs))
	for i, orgID := range orgs {
		demands[i].OrgID = orgID
	}
	return demands
}

// fewCounters is up to how many counters are written one after the other. For an update of several at once the planner
// makes a new plan each time, which takes longer than a few updates of one.
const fewCounters = 4

func addUsage(batch *db.Batch, counters map[uuid.UUID]Usage, charged map[uuid.UUID]int64) {
	if len(charged) <= fewCounters {
		for orgID, amount := range charged {
			batch.Queue(`
				UPDATE usage_counters SET used = used + $4
				WHERE org_id = $1 AND metric = $2 AND period_start = $3`,
				orgID, MetricRuns, counters[orgID].Period, amount)
		}
		return
	}
	orgs, amounts := make([]uuid.UUID, 0, len(charged)), make([]int64, 0, len(charged))
	periods := make([]time.Time, 0, len(charged))
	for orgID, amount := range charged {
		orgs, amounts, periods = append(orgs, orgID), append(amounts, amount), append(periods, counters[orgID].Period)
	}
	batch.Queue(`
		UPDATE usage_counters AS u SET used = u.used + charged.amount
		FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS charged (org_id, period_start, amount)
		WHERE u.org_id = charged.org_id AND u.metric = $4 AND u.period_start = charged.period_start`,
		db.IDColumn(orgs, itself), periods, amounts, MetricRuns)
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
		"%d of %d runs are used this month; the count starts anew at %s. Nothing was started.",
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

// RunCounts tells the runs of a period apart.
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
