package workflows

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
)

// result is what became of a start.
type result struct {
	answer StartAnswer
	err    error
	// existing is the key that somebody else had, for those who follow.
	existing *idempotency.Record
}

// commit brings prepared starts into the database, in as few transactions as it takes, and returns one
// result per start. It goes on when the client has gone: a start that has begun is finished or refused,
// never left.
//
// Starts with one key are put together first, because the claim takes each key once: the first leads
// and is claimed, the others follow and get what the leader got. Where the leader alone was at fault, the
// next one leads in another round.
func (s *Starter) commit(ctx context.Context, starts []start) []result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CommitTimeout)
	defer cancel()
	began := time.Now()
	defer func() { s.figures.Committed(len(starts), time.Since(began)) }()
	results := make([]result, len(starts))
	var pending []int
	for i := range starts {
		pending = append(pending, i)
	}
	for len(pending) > 0 {
		leaders, followers := lead(starts, pending)
		for i, r := range s.commitLeaders(ctx, pick(starts, leaders), open) {
			results[leaders[i]] = r
		}
		pending = nil
		for _, f := range followers {
			r, decided := follow(starts[f.index], starts[f.leader], results[f.leader])
			if !decided {
				pending = append(pending, f.index)
				continue
			}
			results[f.index] = r
		}
	}
	s.staged.Wake()
	return results
}

// opened is what a transaction of starts begins with.
type opened struct {
	keys     *idempotency.Taking
	counters users.Counters
}

// opening queues what a transaction of starts of different keys begins with.
type opening func(batch *db.Batch, starts []start) opened

// commitLeaders commits starts of different keys. When one row of the group is at fault, or one
// organization's counter cannot be had in time, the others are not made to suffer for it.
func (s *Starter) commitLeaders(ctx context.Context, starts []start, open opening) []result {
	results, err := db.InPipeline(ctx, s.db,
		func(batch *db.Batch) opened { return open(batch, starts) },
		func(tx db.Tx, o opened, last *db.Batch) ([]result, error) {
			return s.commitIn(ctx, tx, o, last, starts)
		},
	)
	switch {
	case err == nil:
		return results
	case db.IsMemberFault(err) && len(starts) > 1:
		return s.commitApart(ctx, starts, open, func(i int) string { return starts[i].run.Run.ID.String() })
	case db.IsLockTimeout(err) && !sameOrganization(starts):
		return s.commitApart(ctx, starts, openInHaste, func(i int) string { return starts[i].orgID().String() })
	}
	results = make([]result, len(starts))
	for i := range starts {
		results[i].err = startError(err, starts[i])
	}
	return results
}

// commitApart commits a group that has failed as a whole in smaller ones, in the order of arrival.
func (s *Starter) commitApart(ctx context.Context, starts []start, open opening, groupOf func(int) string) []result {
	groups := make(map[string][]int)
	var names []string
	for i := range starts {
		name := groupOf(i)
		if _, ok := groups[name]; !ok {
			names = append(names, name)
		}
		groups[name] = append(groups[name], i)
	}
	results := make([]result, len(starts))
	for _, name := range names {
		for i, r := range s.commitLeaders(ctx, pick(starts, groups[name]), open) {
			results[groups[name][i]] = r
		}
	}
	return results
}

// open queues the claim of the keys and the lock on the counters. The answer to the claim is not known yet: where
// another request has the key, its lock keeps this one from waiting for the counter that the other holds as well.
func open(batch *db.Batch, starts []start) opened {
	var claims []idempotency.Claim
	demands := make([]users.Demand, len(starts))
	for i, st := range starts {
		demands[i].OrgID = st.orgID()
		if st.keyed {
			demands[i].Lock = new(st.claim.LockNumber())
			claims = append(claims, st.claim)
		}
	}
	return opened{keys: idempotency.Begin(batch, claims), counters: users.LockCounters(batch, demands)}
}

// secondWait is how long starts wait for a lock that their group has waited for in vain: long enough for a commit that
// is only under way.
const secondWait = "SET LOCAL lock_timeout = '200ms'"

// openInHaste is open for one organization of a group. Where a process is stuck in the middle of its own group,
// many organizations are held up, and the others wait until each of them has been tried.
func openInHaste(batch *db.Batch, starts []start) opened {
	batch.Queue(secondWait)
	return open(batch, starts)
}

// commitIn is the transaction: claim the keys, charge the quota, write what was granted. The finished
// responses are in the key rows from the beginning.
func (s *Starter) commitIn(
	ctx context.Context, tx db.Tx, o opened, batch *db.Batch, starts []start,
) ([]result, error) {
	taken, err := o.keys.Finish(ctx, tx)
	if err != nil {
		return nil, err
	}
	results := make([]result, len(starts))
	winners := claimed(starts, taken, results)
	if len(winners) == 0 {
		return results, nil
	}
	demands := make([]uuid.UUID, len(winners))
	for i, w := range winners {
		demands[i] = starts[w].orgID()
	}
	grants, err := o.counters.ChargeRuns(ctx, tx, batch, demands)
	if err != nil {
		return nil, err
	}
	var runs []validations.Prepared
	var audits []core.AuditRecord
	var refused []idempotency.Claim
	for i, w := range winners {
		if !grants[i].Granted {
			results[w] = result{err: grants[i].Refusal()}
			if starts[w].keyed {
				refused = append(refused, starts[w].claim)
			}
			continue
		}
		run := starts[w].run
		run.Run.UsageMetric, run.Run.UsagePeriod = grants[i].Usage.Metric, grants[i].Usage.Period
		runs, audits = append(runs, run), append(audits, starts[w].audit)
	}
	if len(refused) > 0 {
		idempotency.Withdraw(batch, refused...)
	}
	if len(runs) > 0 {
		s.runs.Create(batch, runs...)
		core.Audit(batch, audits...)
	}
	return results, nil
}

// claimed returns which starts may go on; the others have their result.
func claimed(starts []start, outcomes []idempotency.Taken, results []result) []int {
	var winners []int
	for i, st := range starts {
		results[i].answer.Response, results[i].answer.RunID = st.response, st.run.Run.ID
		if !st.keyed {
			winners = append(winners, i)
			continue
		}
		outcome := outcomes[0]
		outcomes = outcomes[1:]
		switch {
		case outcome.Claimed:
			results[i].answer.ExpiresAt = outcome.ExpiresAt
			winners = append(winners, i)
		case outcome.Existing != nil:
			results[i].answer, results[i].err = replay(*outcome.Existing, st.claim.Fingerprint)
			results[i].existing = outcome.Existing
		default:
			results[i] = result{err: idempotency.InProgress(0)}
		}
	}
	return winners
}

// startError tells the client what a failed commit means for its start.
func startError(err error, st start) error {
	if errors.Is(err, db.ErrOutcomeUnknown) {
		unknown := core.NewError(core.CodeOutcomeUnknown, outcomeAdvice(st.keyed))
		unknown.RunID = st.run.Run.ID.String()
		unknown.Retryable = st.keyed
		unknown.RetryAfter = time.Second
		return unknown.Because(err)
	}
	if db.IsUnavailable(err) || db.IsContention(err) || validations.IsUploadGone(err) {
		unavailable := core.Unavailable(err)
		unavailable.Detail = "The service cannot answer right now. Nothing was started; send the same request again."
		return unavailable
	}
	return err
}

func outcomeAdvice(keyed bool) string {
	if keyed {
		return "It is not known whether the run was started. Send the same request with the same key again: " +
			"it starts the run or answers with the one that was started."
	}
	return "It is not known whether the run was started. Look for run_id before you start another; " +
		"with an Idempotency-Key this request could simply be repeated."
}
