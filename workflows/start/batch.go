package start

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/tracing"
)

const (
	maxBatchSize  = 256
	maxBatchBytes = 8 << 20
	// batchesAtOnce is small because the starts of one busy organization wait for each other's counter anyway.
	batchesAtOnce = 2
	// overlapSize is how many waiting starts begin a second batch, so that the database is not idle while the first
	// one is answered. Fewer make smaller batches, in which each start costs more.
	overlapSize = 6
	// overlapAfter begins a second batch when the first one waits for a lock of another process, which need not
	// concern those behind it.
	overlapAfter = 50 * time.Millisecond
	// batchesWaiting bounds the queue. Beyond it the database does not keep up, and a refusal is better than a wait.
	batchesWaiting = 4
)

func batchLimits() coalesce.Limits {
	return coalesce.Limits{
		Batches: batchesAtOnce, MinBatch: overlapSize, OverlapAfter: overlapAfter,
		Members: maxBatchSize, Weight: maxBatchBytes,
		Waiting: batchesWaiting * maxBatchSize, WaitingWeight: batchesWaiting * maxBatchBytes,
	}
}

// commitShared commits an attempt together with those that arrive while another commit is under way.
func (s *Starter) commitShared(ctx context.Context, a *attempt) {
	_, err := s.batches.Do(ctx, a)
	switch {
	case err == nil:
	case errors.Is(err, coalesce.ErrOverloaded), ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		a.refuse(core.Unavailable(err))
	default:
		a.refuse(commitError(fmt.Errorf("%w: %w", db.ErrOutcomeUnknown, err), a))
	}
}

// commitBatch decides every attempt, in as few transactions as it takes. It goes on when the client has gone: a start
// that has begun is finished or refused, never left.
func (s *Starter) commitBatch(ctx context.Context, batch []*attempt) []struct{} {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CommitTimeout)
	defer cancel()
	ctx, span := s.cfg.Tracer.Together(ctx, "start.commit",
		db.Column(batch, func(a **attempt) tracing.Origin { return (*a).run.Origin }))
	defer span.End()
	span.SetInt("sv.starts", len(batch))
	began := time.Now()
	defer func() { s.metrics.Committed(len(batch), time.Since(began)) }()
	for pending := batch; len(pending) > 0; {
		firsts, duplicates := dedupByKey(pending)
		refused, others := s.spent.split(firsts)
		s.commitDistinct(ctx, append(others, s.settle(ctx, refused)...), usualLockTimeout)
		pending = nil
		for _, d := range duplicates {
			if !d.resolve() {
				pending = append(pending, d.attempt)
			}
		}
	}
	if slices.ContainsFunc(batch, (*attempt).isStaged) {
		s.staged.Wake()
	}
	return make([]struct{}, len(batch))
}

// commitDistinct decides attempts of different keys. When one row is at fault, or one organization's counter cannot be
// locked in time, the others are committed without it. What is granted by a commit is never tried again.
func (s *Starter) commitDistinct(ctx context.Context, batch []*attempt, lockTimeout string) {
	if len(batch) == 0 {
		return
	}
	err := s.commit(ctx, batch, lockTimeout)
	switch {
	case err == nil:
		granted := func(a *attempt) bool { return a.granted }
		s.commitDistinct(ctx, s.settle(ctx, slices.DeleteFunc(slices.Clone(batch), granted)), lockTimeout)
	case db.IsMemberFault(err) && len(batch) > 1:
		for _, a := range batch {
			s.commitDistinct(ctx, []*attempt{a}, lockTimeout)
		}
	case db.IsLockTimeout(err) && len(split(batch)) > 1:
		for _, attempts := range split(batch) {
			s.commitDistinct(ctx, attempts, shortLockTimeout)
		}
	default:
		if db.ViolatedConstraint(err) != "" {
			// Its organization, which all rows refer to, may be gone.
			batch = s.settle(ctx, batch)
		}
		for _, a := range batch {
			a.refuse(commitError(err, a))
		}
	}
}

// duplicate is an attempt whose key an earlier attempt of the same batch has.
type duplicate struct {
	*attempt

	first *attempt
}

// dedupByKey returns the first attempt of each key, and the others as duplicates, because a statement can claim each
// key only once.
func dedupByKey(batch []*attempt) ([]*attempt, []duplicate) {
	var firsts []*attempt
	var duplicates []duplicate
	byKey := make(map[idempotency.Identity]*attempt)
	for _, a := range batch {
		if !a.keyed {
			firsts = append(firsts, a)
			continue
		}
		if first, ok := byKey[a.claim.Identity]; ok {
			duplicates = append(duplicates, duplicate{attempt: a, first: first})
			continue
		}
		byKey[a.claim.Identity] = a
		firsts = append(firsts, a)
	}
	return firsts, duplicates
}

// resolve gives a duplicate the key as its first attempt has left it. It reports false where the first one left no key
// behind for a reason of its own, so that the duplicate has to be tried.
func (d duplicate) resolve() bool {
	switch first := d.first; {
	case first.err != nil:
		d.err = first.err
		return holdsForDuplicates(first.err)
	case first.claimed.Claimed:
		d.claimed = idempotency.ClaimResult{Existing: first.record()}
	default:
		d.claimed = first.claimed
	}
	return true
}

// holdsForDuplicates reports whether a refusal says the same about every start of the key. A retry would wait for the
// same lock or find the same quota used up, and everybody behind it would wait as well. Where the outcome is unknown,
// the run that may exist is the first attempt's.
func holdsForDuplicates(err error) bool {
	switch core.AsError(err).Code {
	case api.CodeUnavailable, api.CodeOutcomeUnknown, api.CodeQuotaExceeded:
		return true
	default:
		return false
	}
}

// part is what is committed apart when a lock of a batch cannot be had: an organization's starts, or its reruns, which
// also wait for their documents.
type part struct {
	orgID uuid.UUID
	rerun bool
}

// split returns the parts of a batch, in the order of arrival.
func split(batch []*attempt) [][]*attempt {
	var parts [][]*attempt
	place := make(map[part]int)
	for _, a := range batch {
		key := part{orgID: a.run.Run.OrgID, rerun: a.isRerun()}
		i, ok := place[key]
		if !ok {
			i = len(parts)
			place[key] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], a)
	}
	return parts
}
