package quota

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
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

// Room is how many more runs the quota has room for.
func (u Usage) Room() int64 {
	if u.Quota == nil {
		return math.MaxInt64
	}
	return max(*u.Quota-u.Used, 0)
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

// RunCharge is a run that its organization is charged for. A held one is charged later, and only keeps its grant.
type RunCharge struct {
	RunID, OrgID uuid.UUID
	Held         bool
}

// currentPeriod is the current period: the month of the transaction, by the database's clock in UTC.
const currentPeriod = `date_trunc('month', now() AT TIME ZONE 'UTC')::date`

// chargeQuery charges each organization for those of its runs that are granted, and grants the runs of those
// organizations whose counter has room for all of them, and the runs without an organization. The condition is compared
// anew with a count that another transaction has raised meanwhile. The index gives the counters in the order of the
// organizations, so two transactions never wait for each other. The sub-selects hide the number of runs from the
// planner, which would otherwise make a new plan each time, and keep it from reading all counters
// (docs/adr/0013-plans-without-statistics.md).
const chargeQuery = `
	WITH wanted AS MATERIALIZED (
		SELECT w.org, count(*) AS number, array_agg(w.run) AS runs
		FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[])) AS w (run, org)
		WHERE w.run = ANY (` + db.Granted + `) GROUP BY w.org),
	charged AS (
		UPDATE usage_counters AS u SET used = u.used + (SELECT number FROM wanted WHERE org = u.org_id)
		WHERE u.org_id = ANY (ARRAY(SELECT org FROM wanted))
			AND u.metric = $3 AND u.period_start = ` + currentPeriod + `
			AND (u.quota IS NULL OR u.used + (SELECT number FROM wanted WHERE org = u.org_id) <= u.quota)
		RETURNING (SELECT runs FROM wanted WHERE org = u.org_id) AS runs)
	SELECT `

// chargedRuns are the runs that are granted behind chargeQuery.
const chargedRuns = `ARRAY(SELECT unnest(runs) FROM charged) || (SELECT runs FROM wanted WHERE org IS NULL)`

// QueueCharges queues the charges of runs that the batch may have granted (db.Granted), and returns the runs that are
// granted behind it. An organization without a counter, such as one that has moved, is granted none, not even a held
// one.
func QueueCharges(batch *db.Batch, charges []RunCharge) *db.Future[[]uuid.UUID] {
	if slices.ContainsFunc(charges, func(c RunCharge) bool { return c.Held }) {
		// Whoever ends the counters of an organization that moves waits for these locks, and afterwards finds the runs.
		batch.Queue(`
			WITH counted AS MATERIALIZED (
				SELECT u.org_id FROM usage_counters AS u
				WHERE u.org_id = ANY ($2) AND u.metric = $3 AND u.period_start = `+currentPeriod+`
				ORDER BY u.org_id FOR KEY SHARE)
			SELECT `+db.GrantOnly(`ARRAY(SELECT g.id FROM unnest(`+db.Granted+`) AS g (id) WHERE g.id NOT IN (
				SELECT r.run FROM unnest($1::uuid[], $2::uuid[]) AS r (run, org)
				WHERE r.org NOT IN (SELECT org_id FROM counted)))`),
			db.Column(charges, func(c *RunCharge) *uuid.UUID { return &c.RunID }),
			db.Column(charges, func(c *RunCharge) *uuid.UUID { return &c.OrgID }), MetricRuns)
	}
	return db.QueueInto(batch, readGranted, chargeQuery+db.GrantOnly(chargedRuns),
		db.Column(charges, func(c *RunCharge) *uuid.UUID { return &c.RunID }),
		db.Column(charges, func(c *RunCharge) *uuid.UUID {
			if c.Held {
				return nil
			}
			return &c.OrgID
		}), MetricRuns)
}

// OpenCounters returns the counters of the current period, by organization. Counters that are missing, as they are
// before the first start of a month, are opened: each takes the quota that the operator has set, and the lock lets no
// change of that quota slip in between. An organization that was deleted or has moved has none.
func OpenCounters(ctx context.Context, database *db.DB, orgs []uuid.UUID) (map[uuid.UUID]Usage, error) {
	ids := db.IDs(orgs)
	opened, err := db.InBatch(ctx, database, func(batch *db.Batch) *db.Future[[]Usage] {
		// The sub-select that counts is no join, for which the planner could read all counters.
		batch.Queue(`
			INSERT INTO usage_counters (org_id, metric, period_start, used, quota)
			SELECT o.id, $2, `+currentPeriod+`, 0, o.run_quota FROM organizations AS o
			WHERE o.id = ANY ((SELECT $1::uuid[])::uuid[]) AND o.moved_to IS NULL AND (
				SELECT count(*) FROM usage_counters
				WHERE org_id = o.id AND metric = $2 AND period_start = `+currentPeriod+`) = 0
			ORDER BY o.id FOR SHARE OF o
			ON CONFLICT DO NOTHING`, ids, MetricRuns)
		return db.QueueInto(batch, collectUsage, `
			SELECT org_id, metric, period_start, used, quota FROM usage_counters
			WHERE org_id = ANY ((SELECT $1::uuid[])::uuid[]) AND metric = $2 AND period_start = `+currentPeriod,
			ids, MetricRuns)
	})
	if err != nil {
		return nil, fmt.Errorf("open usage counters: %w", err)
	}
	counters := make(map[uuid.UUID]Usage)
	found, err := opened.Get()
	for _, usage := range found {
		counters[usage.OrgID] = usage
	}
	return counters, err
}

func readGranted(rows pgx.Rows) ([]uuid.UUID, error) {
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]uuid.UUID])
}

func collectUsage(rows pgx.Rows) ([]Usage, error) {
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Usage])
}

// PaymentRequired says that the quota is used up and the charge for a run beyond it was declined.
func PaymentRequired() *core.Error {
	return core.NewError(api.CodePaymentRequired,
		"The quota is used up and the charge for a run beyond it was declined. Nothing was started. "+
			"Settle the account, then start with a new key.")
}

// Exceeded says that the organization has used up its runs of the period.
func Exceeded(usage Usage) *core.Error {
	var quota int64
	if usage.Quota != nil {
		quota = *usage.Quota
	}
	err := core.NewError(api.CodeQuotaExceeded, fmt.Sprintf(
		"%d of %d runs are used this month; the count resets at %s. Nothing was started.",
		usage.Used, quota, usage.ResetsAt().Format(time.RFC3339)))
	err.RetryAfter = max(time.Until(usage.ResetsAt()), time.Second)
	return err
}

// QueueChange queues the quota of the current period and of a later one, which a start opens when the month turns after
// this transaction has begun. What is used stays used: the quota never falls below it.
func QueueChange(batch *db.Batch, orgID uuid.UUID, quota *int64) {
	batch.Queue(`
		UPDATE usage_counters SET quota = greatest($2::bigint, CASE WHEN $2::bigint IS NOT NULL THEN used END)
		WHERE org_id = $1 AND metric = $3 AND period_start >= date_trunc('month', now() AT TIME ZONE 'UTC')::date`,
		orgID, quota, MetricRuns)
}
