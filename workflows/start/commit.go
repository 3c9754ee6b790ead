package start

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations"
)

// answers are what the statements of a commit will have answered.
type answers struct {
	// documents are those of reruns; nil where there are none.
	documents *validations.PendingDocuments
	claimed   *db.Future[map[uuid.UUID]time.Time]
	granted   *db.Future[[]uuid.UUID]
}

// commit starts the runs of attempts of different keys, in one transaction of one round trip. It grants those whose
// key it has claimed, whose document is there (a rerun's may be gone) and whose organization has room for all of its
// runs. The statements behind insert only what is granted, so nothing is left of the others, and settle decides them.
func (s *Starter) commit(ctx context.Context, attempts []*attempt, lockTimeout string) error {
	for _, a := range attempts {
		a.outcome = outcome{}
	}
	answered, err := db.InBatch(ctx, s.database, func(batch *db.Batch) answers {
		queueLockTimeout(batch, lockTimeout)
		return s.queue(batch, attempts)
	})
	if err != nil {
		return err
	}
	claimed, err := answered.claimed.Get()
	if err != nil {
		return err
	}
	granted, err := answered.granted.Get() // The batch was sent, so there is no error.
	for _, a := range attempts {
		expiresAt, ok := claimed[a.claim.ID]
		a.tried, a.claimed = true, idempotency.ClaimResult{Claimed: ok || !a.keyed, ExpiresAt: expiresAt}
		a.granted = slices.Contains(granted, a.run.Run.ID)
		if a.isRerun() && a.claimed.Claimed {
			a.err = answered.documents.Require(a.run.Run)
		}
	}
	return err
}

// queue queues the statements of a commit. Documents come first: they are large, and a process that freezes while it
// sends them must hold no key and no counter, because PostgreSQL has no time limit for the middle of a message.
func (s *Starter) queue(batch *db.Batch, attempts []*attempt) answers {
	var runs, fresh, reruns []validations.Prepared
	var charges []quota.RunCharge
	var claims []idempotency.Claim
	// Runs without a key need none.
	var unkeyed []uuid.UUID
	for _, a := range attempts {
		run := a.run
		run.Lease = a.slot.Lease()
		if a.keyed {
			claims = append(claims, a.claim)
		} else {
			unkeyed = append(unkeyed, a.run.Run.ID)
		}
		// Runs that are held back are charged when their phases have come so far.
		if !run.Held {
			run.Run.UsageMetric = quota.MetricRuns
		}
		charges = append(charges, quota.RunCharge{RunID: a.run.Run.ID, OrgID: a.run.Run.OrgID, Held: run.Held})
		runs = append(runs, run)
		if a.isRerun() {
			reruns = append(reruns, run)
		} else {
			fresh = append(fresh, run)
		}
	}
	if len(fresh) > 0 {
		validations.QueueDocuments(batch, fresh)
	}
	var answered answers
	answered.claimed = idempotency.QueueClaims(batch, claims, unkeyed)
	if len(reruns) > 0 {
		answered.documents = validations.QueueDocumentLocks(batch, reruns)
	}
	answered.granted = quota.QueueCharges(batch, charges)
	s.runs.Create(batch, runs)
	core.AuditGranted(batch, db.Column(attempts, func(a **attempt) core.AuditRecord { return (*a).audit })...)
	idempotency.QueueWithdrawals(batch, claims)
	return answered
}
