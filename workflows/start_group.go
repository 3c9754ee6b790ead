package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const (
	// groupsAtOnce is small because the starts of one busy organization wait for each other's counter anyway. A second
	// group begins when groupEnough starts wait, so that the database is not idle while the first is answered, or when
	// the first takes longer than groupPatience: it waits for what another process holds, which need not concern those
	// behind it.
	groupsAtOnce  = 2
	groupEnough   = 3
	groupPatience = 50 * time.Millisecond
	groupMembers  = 256
	groupBytes    = 8 << 20
	// groupsWaiting is how many full groups may wait. Beyond that the database does not keep up, and a start is
	// better told so than kept waiting.
	groupsWaiting = 4
)

// commitShared commits a start together with those that arrive while another commit is under way.
func (s *Starter) commitShared(ctx context.Context, prepared start) result {
	shared, err := s.commits.Do(ctx, prepared)
	switch {
	case err == nil:
		return shared
	case errors.Is(err, coalesce.ErrOverloaded), ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return result{err: core.Unavailable(err)}
	default:
		return result{err: startError(fmt.Errorf("%w: %w", db.ErrOutcomeUnknown, err), prepared)}
	}
}

// follower is a start whose key another start of the group leads.
type follower struct {
	index  int
	leader int
}

// lead splits the pending starts into those that are committed now and those that wait for one of them.
func lead(starts []start, pending []int) ([]int, []follower) {
	var leaders []int
	var followers []follower
	leads := make(map[idempotency.Identity]int)
	for _, i := range pending {
		key := starts[i].claim.Identity()
		if leader, taken := leads[key]; taken && starts[i].keyed {
			followers = append(followers, follower{index: i, leader: leader})
			continue
		}
		leaders = append(leaders, i)
		if starts[i].keyed {
			leads[key] = i
		}
	}
	return leaders, followers
}

// follow gives a follower what its leader's key has to say to it. It is undecided when the leader left no key behind,
// unless the reason holds for the follower as well: it would meet the same trouble or the same full counter again, in a
// transaction of its own that everybody behind it waits for. Where the leader's outcome is unknown, the run that may be
// there is the leader's.
func follow(st, leader start, led result) (result, bool) {
	record := led.existing
	if record == nil {
		if led.err != nil {
			return result{err: led.err}, holdsForFollowers(led.err)
		}
		record = &idempotency.Record{
			ID: leader.claim.ID, OrgID: leader.claim.OrgID, Fingerprint: leader.claim.Fingerprint,
			RequestID: leader.claim.Caller.RequestID, RunID: leader.claim.RunID, Point: idempotency.PointFinished,
			ExpiresAt: led.answer.ExpiresAt, Response: leader.response,
		}
	}
	answer, err := replay(*record, st.claim.Fingerprint)
	return result{answer: answer, err: err, existing: record}, true
}

func holdsForFollowers(err error) bool {
	switch core.AsError(err).Code {
	case core.CodeKeyInProgress, core.CodeUnavailable, core.CodeOutcomeUnknown, core.CodeQuotaExceeded:
		return true
	default:
		return false
	}
}

func pick(starts []start, indexes []int) []start {
	picked := make([]start, len(indexes))
	for i, index := range indexes {
		picked[i] = starts[index]
	}
	return picked
}

func sameOrganization(starts []start) bool {
	for _, st := range starts {
		if st.orgID() != starts[0].orgID() {
			return false
		}
	}
	return true
}
