package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// parallelBatches bounds the transactions at the same time. The second one begins for a full batch, or when the
	// first takes longer than overlapAfter because it waits for a lock.
	parallelBatches = 2
	// batchMembers also bounds how many members are repeated alone when one of them violates a constraint.
	batchMembers = 64
	overlapAfter = 50 * time.Millisecond
	// batchFindings bounds the findings that one transaction writes.
	batchFindings = 4000
	// maxQueued is more than the number of runs that one process executes.
	maxQueued = 4096
)

// batcher lets runs that begin or end a step at about the same time share a transaction, because a transaction costs
// much more than one of its rows. No run waits for others to fill a batch.
type batcher[T, R any] struct {
	batches *coalesce.Batcher[T, outcome[R]]
}

// outcome is the result of one member of a batch.
type outcome[R any] struct {
	result R
	err    error
}

// newBatcher makes a batcher. transact is the transaction: it returns one result for each item, in their order. weigh
// returns how many rows an item writes.
func newBatcher[T, R any](weigh func(T) int, transact func(context.Context, []T) ([]R, error)) batcher[T, R] {
	return batcher[T, R]{coalesce.New(coalesce.Limits{
		Batches: parallelBatches, MinBatch: batchMembers, OverlapAfter: overlapAfter,
		Members: batchMembers, Weight: batchMembers + batchFindings,
		Waiting: maxQueued, WaitingWeight: maxQueued * (batchMembers + batchFindings),
	}, weigh, func(ctx context.Context, items []T) []outcome[R] {
		// The context is that of one member, whose end must not roll back the others.
		return transactAll(context.WithoutCancel(ctx), items, transact)
	})}
}

// do returns the item's result of the transaction. Once its batch has begun, the end of the context has no effect.
func (b batcher[T, R]) do(ctx context.Context, item T) (R, error) {
	done, err := b.batches.Do(ctx, item)
	if err != nil {
		return done.result, fmt.Errorf("wait for a batch: %w", err)
	}
	return done.result, done.err
}

// transactAll runs the transaction for all items. If one item violates a constraint or waits for a lock, it is repeated
// for each item alone, so that one run does not fail the others.
func transactAll[T, R any](
	ctx context.Context, items []T, transact func(context.Context, []T) ([]R, error),
) []outcome[R] {
	results, err := transact(ctx, items)
	separate := len(items) > 1 && (db.IsMemberFault(err) || db.IsLockTimeout(err))
	outcomes := make([]outcome[R], len(items))
	for i := range items {
		switch {
		case err == nil:
			outcomes[i].result = results[i]
		case separate:
			outcomes[i] = transactAll(ctx, items[i:i+1], transact)[0]
		default:
			outcomes[i].err = err
		}
	}
	return outcomes
}
