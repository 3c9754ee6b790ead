package start

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

// settle decides attempts that no commit has granted: it answers those whose key another request has, and refuses those
// that the quota has no room for, in the order of arrival. It returns the ones that are worth a commit: what stood
// against them is gone, or they were not tried.
func (s *Starter) settle(ctx context.Context, attempts []*attempt) []*attempt {
	if len(attempts) == 0 {
		return nil
	}
	left, err := s.settleKeys(ctx, attempts)
	if err == nil {
		left, err = s.settleQuotas(ctx, left)
	}
	if err == nil {
		return left
	}
	for _, a := range left {
		a.refuse(commitError(err, a))
	}
	return nil
}

// settleKeys looks at the keys that are not claimed, in a snapshot that has seen what their holders have committed. An
// attempt that could not claim a key without a row, or one that has expired, has met a request that is still in
// progress, unless the key has expired since; a retry starts then. It is not tried again here: that request may hold
// the key for as long as it likes.
func (s *Starter) settleKeys(ctx context.Context, attempts []*attempt) ([]*attempt, error) {
	var unclaimed, left []*attempt
	for _, a := range attempts {
		switch {
		case a.err != nil:
		case a.keyed && !a.claimed.Claimed:
			unclaimed = append(unclaimed, a)
		default:
			left = append(left, a)
		}
	}
	existing, err := idempotency.ReadExisting(ctx, s.database,
		db.Column(unclaimed, func(a **attempt) idempotency.Claim { return (*a).claim }))
	if err != nil {
		return append(left, unclaimed...), err
	}
	for _, a := range unclaimed {
		switch record, found := existing[a.claim.Identity]; {
		case found && !record.Absent():
			a.claimed.Existing = &record
		case !a.tried:
			left = append(left, a)
		}
	}
	return left, nil
}

// settleQuotas refuses what the quotas have no room for, and returns the others.
func (s *Starter) settleQuotas(ctx context.Context, attempts []*attempt) ([]*attempt, error) {
	var orgs []uuid.UUID
	for _, a := range attempts {
		orgs = append(orgs, a.run.Run.OrgID)
	}
	if len(orgs) == 0 {
		return attempts, nil
	}
	counters, err := quota.OpenCounters(ctx, s.database, orgs)
	if err != nil {
		return attempts, fmt.Errorf("settle starts: %w", err)
	}
	s.spent.learn(counters)
	taken := make(map[uuid.UUID]int64)
	var left []*attempt
	for _, a := range attempts {
		usage, found := counters[a.run.Run.OrgID]
		switch {
		case !found:
			// The organization was deleted, or has moved, since the request was authenticated.
			a.refuse(core.AccessChanged())
		case a.run.Held:
			left = append(left, a)
		case taken[a.run.Run.OrgID] < usage.Room():
			taken[a.run.Run.OrgID]++
			left = append(left, a)
		default:
			a.refuseQuota(usage)
		}
	}
	return left, nil
}
