package start

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
)

// opened is what the first round trip of the transaction will have answered.
type opened struct {
	claims    *idempotency.PendingClaims
	documents *validations.PendingDocuments
	counters  *users.PendingCounters
}

// opening queues the first round trip.
type opening func(first *db.Batch, attempts []*attempt) opened

// transact decides attempts of different keys. Nearly every start gets a key that nobody else has and a quota with
// room, so that is tried first, in one round trip, unless one of the organizations was refused a start lately.
func (s *Starter) transact(ctx context.Context, attempts []*attempt) error {
	if s.doubts.about(attempts) {
		return s.decide(ctx, attempts, open)
	}
	err := s.transactAtOnce(ctx, attempts)
	// An organization that was deleted meanwhile has no counter, but its rows are refused before that is asked.
	if !db.IsUnmet(err) && db.ViolatedConstraint(err) == "" {
		return err
	}
	return s.decide(ctx, attempts, open)
}

// transactApart decides the attempts of one organization, whose batch has waited too long for a lock.
func (s *Starter) transactApart(ctx context.Context, attempts []*attempt) error {
	return s.decide(ctx, attempts, openWithShortLockTimeout)
}

// transactAtOnce starts the runs of all attempts in one transaction of one round trip, or of none: it gives up with an
// error that db.IsUnmet recognizes where a key is not free or a quota has no room, which decide tells apart.
func (s *Starter) transactAtOnce(ctx context.Context, attempts []*attempt) error {
	// The clock of the database decides: the charge requires the same period.
	period := users.PeriodOf(time.Now())
	claims, err := db.InBatch(ctx, s.database, func(batch *db.Batch) *idempotency.PendingClaims {
		for _, a := range attempts {
			a.outcome = outcome{claimed: idempotency.ClaimResult{Claimed: true}, charged: users.Usage{
				OrgID: a.orgID(), Metric: users.MetricRuns, Period: period,
			}}
		}
		claims := idempotency.QueueRequiredClaims(batch, claimsOf(attempts))
		s.insert(batch, attempts)
		// Last, so that a process that freezes while it sends large documents holds nobody's counter.
		users.QueueRequiredCharges(batch, period, chargesOf(attempts))
		return claims
	})
	if err != nil {
		return err
	}
	claimed, err := claims.Claimed()
	resolveClaims(claimed, attempts)
	return err
}

// decide decides attempts of different keys in one transaction of two round trips: claims and locks travel with
// BEGIN, inserts with COMMIT. The transaction may be repeated, so each pass begins with new outcomes and writes nothing
// else of an attempt.
func (s *Starter) decide(ctx context.Context, attempts []*attempt, open opening) error {
	_, err := db.InPipeline(ctx, s.database,
		func(first *db.Batch) opened { return open(first, attempts) },
		func(tx db.Tx, o opened, last *db.Batch) (struct{}, error) {
			for _, a := range attempts {
				a.outcome = outcome{claimed: idempotency.ClaimResult{Claimed: true}}
			}
			claimed, err := o.claims.Results(ctx, tx)
			if err != nil {
				return struct{}{}, err
			}
			resolveClaims(claimed, attempts)
			requireDocuments(o.documents, attempts)
			if err := charge(o.counters, last, goingOn(attempts)); err != nil {
				return struct{}{}, err
			}
			withdraw(last, attempts)
			s.insert(last, goingOn(attempts))
			return struct{}{}, nil
		})
	if err == nil {
		s.doubts.learn(attempts)
	}
	return err
}

// open queues the claims of the keys and the locks on what the attempts need. A counter is locked only for a key whose
// advisory lock is free, so nobody waits for a counter that the key's holder has locked as well.
func open(first *db.Batch, attempts []*attempt) opened {
	var reruns []validations.Prepared
	var demands []users.Demand
	for _, a := range attempts {
		demand := users.Demand{OrgID: a.orgID()}
		if a.keyed {
			demand.Lock = new(a.claim.LockNumber())
		}
		if a.isRerun() {
			reruns = append(reruns, a.run)
		}
		if !a.run.Held {
			demands = append(demands, demand)
		}
	}
	return opened{
		claims:    idempotency.QueueClaims(first, claimsOf(attempts)),
		documents: validations.QueueDocumentLocks(first, reruns),
		counters:  users.QueueCounterLocks(first, demands),
	}
}

// claimsOf returns the claims of the attempts that have a key.
func claimsOf(attempts []*attempt) []idempotency.Claim {
	var claims []idempotency.Claim
	for _, a := range attempts {
		if a.keyed {
			claims = append(claims, a.claim)
		}
	}
	return claims
}

// chargesOf returns what each organization is to be charged.
func chargesOf(attempts []*attempt) []users.RunCharge {
	var charges []users.RunCharge
	for _, a := range attempts {
		i := slices.IndexFunc(charges, func(c users.RunCharge) bool { return c.OrgID == a.orgID() })
		if i < 0 {
			i, charges = len(charges), append(charges, users.RunCharge{OrgID: a.orgID()})
		}
		charges[i].Runs++
	}
	return charges
}

// openWithShortLockTimeout is open for one organization of a batch. A process that is stuck in the middle of its own
// batch holds up many organizations, and the others wait until each of them was tried.
func openWithShortLockTimeout(first *db.Batch, attempts []*attempt) opened {
	queueShortLockTimeout(first)
	return open(first, attempts)
}

// resolveClaims gives every keyed attempt the result of its claim.
func resolveClaims(results map[uuid.UUID]idempotency.ClaimResult, attempts []*attempt) {
	for _, a := range attempts {
		if a.keyed {
			a.claimed = results[a.claim.ID]
		}
	}
}

// requireDocuments refuses reruns whose document retention has removed.
func requireDocuments(pending *validations.PendingDocuments, attempts []*attempt) {
	for _, a := range attempts {
		if a.isRerun() && a.goesOn() {
			a.refuse(pending.Require(a.run.Run))
		}
	}
}

// charge charges the quota for each attempt, in the order of arrival, and refuses what does not fit. A run that is held
// back is charged later, when its phases have come so far.
func charge(pending *users.PendingCounters, last *db.Batch, attempts []*attempt) error {
	counters, err := pending.Counters()
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if a.run.Held {
			continue
		}
		switch usage, granted, err := counters.ChargeRun(a.orgID()); {
		case err != nil:
			a.refuse(err)
		case !granted:
			a.refuseQuota(usage)
		default:
			a.charged = usage
		}
	}
	counters.Write(last)
	return nil
}

// withdraw deletes the keys that refused attempts have claimed, so that nothing is remembered of what did not happen.
func withdraw(last *db.Batch, attempts []*attempt) {
	var refused []idempotency.Claim
	for _, a := range attempts {
		if a.keyed && a.claimed.Claimed && a.err != nil {
			refused = append(refused, a.claim)
		}
	}
	if len(refused) > 0 {
		idempotency.Withdraw(last, refused...)
	}
}

// insert queues the rows of what was granted.
func (s *Starter) insert(last *db.Batch, attempts []*attempt) {
	if len(attempts) == 0 {
		return
	}
	runs := make([]validations.Prepared, 0, len(attempts))
	audits := make([]core.AuditRecord, 0, len(attempts))
	for _, a := range attempts {
		run := a.run
		run.Run.UsageMetric, run.Run.UsagePeriod = a.charged.Metric, a.charged.Period
		run.Lease = a.place.Lease()
		runs, audits = append(runs, run), append(audits, a.audit)
	}
	s.runs.Create(last, runs...)
	core.Audit(last, audits...)
}

// goingOn returns the attempts that nothing has stopped.
func goingOn(attempts []*attempt) []*attempt {
	var left []*attempt
	for _, a := range attempts {
		if a.goesOn() {
			left = append(left, a)
		}
	}
	return left
}
