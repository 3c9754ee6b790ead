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
	documents *validations.PendingDocuments
	claimed   *db.Future[map[uuid.UUID]time.Time]
	granted   *db.Future[[]uuid.UUID]
}

// commit starts the runs of attempts of different keys, in one transaction of one round trip. It grants those whose
// key it has claimed, whose document is there and whose organization has room for all of its runs. The statements
// behind insert only what is granted, so nothing is left of the others, and settle decides them.
func (s *Starter) commit(ctx context.Context, attempts []*attempt) error {
	return s.commitAs(ctx, attempts, func(*db.Batch) {})
}

// commitApart is commit for the attempts of one organization, whose batch has waited too long for a lock. A process
// that is stuck in the middle of its own batch holds up many organizations, and the others wait until each was tried.
func (s *Starter) commitApart(ctx context.Context, attempts []*attempt) error {
	return s.commitAs(ctx, attempts, queueShortLockTimeout)
}

func (s *Starter) commitAs(ctx context.Context, attempts []*attempt, limit func(*db.Batch)) error {
	for _, a := range attempts {
		a.outcome = outcome{}
	}
	answered, err := db.InBatch(ctx, s.database, func(batch *db.Batch) answers {
		limit(batch)
		return s.queue(batch, attempts)
	})
	if err != nil {
		return err
	}
	claimed, err := answered.claimed.Get()
	if err != nil {
		return err
	}
	granted, err := answered.granted.Get()
	for _, a := range attempts {
		expiresAt, ok := claimed[a.claim.ID]
		a.tried, a.claimed = true, idempotency.ClaimResult{Claimed: ok || !a.keyed, ExpiresAt: expiresAt}
		a.granted = slices.Contains(granted, a.runID())
		if a.isRerun() && a.claimed.Claimed {
			a.refuse(answered.documents.Require(a.run.Run))
		}
	}
	return err
}

// queue queues the statements of a commit. Documents come first: they are large, and a process that freezes while it
// sends them must hold no key and no counter, because PostgreSQL has no time limit for the middle of a message.
func (s *Starter) queue(batch *db.Batch, attempts []*attempt) answers {
	rows := s.rowsOf(attempts)
	validations.QueueDocuments(batch, rows.runs)
	var answered answers
	answered.claimed = idempotency.QueueClaims(batch, rows.claims, rows.unkeyed)
	answered.documents = validations.QueueDocumentLocks(batch, rows.reruns)
	answered.granted = quota.QueueCharges(batch, rows.charges, rows.held)
	s.runs.Create(batch, rows.runs)
	core.AuditGranted(batch, db.Column(attempts, func(a **attempt) core.AuditRecord { return (*a).audit })...)
	idempotency.QueueWithdrawals(batch, rows.claims)
	return answered
}

// rows are what attempts have to write.
type rows struct {
	runs, reruns []validations.Prepared
	claims       []idempotency.Claim
	charges      []quota.RunCharge
	// unkeyed are the runs that need no key. Those that are held back are charged later, when their phases have come
	// so far.
	unkeyed, held []uuid.UUID
}

func (s *Starter) rowsOf(attempts []*attempt) rows {
	r := rows{claims: claimsOf(attempts)}
	for _, a := range attempts {
		run := a.run
		run.Lease = a.place.Lease()
		if !a.keyed {
			r.unkeyed = append(r.unkeyed, a.runID())
		}
		if a.isRerun() {
			r.reruns = append(r.reruns, run)
		}
		if run.Held {
			r.held = append(r.held, a.runID())
		} else {
			run.Run.UsageMetric = quota.MetricRuns
			r.charges = append(r.charges, quota.RunCharge{RunID: a.runID(), OrgID: a.orgID()})
		}
		r.runs = append(r.runs, run)
	}
	return r
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
