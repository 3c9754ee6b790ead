package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// groupsAtOnce bounds how many transactions run beside each other: a second one begins for a full group, or when
	// the first takes longer than groupPatience because it waits for somebody else.
	groupsAtOnce  = 2
	groupMembers  = 64
	groupPatience = 50 * time.Millisecond
	// groupFindings bounds the rows that one transaction writes beside those of its runs.
	groupFindings = 4000
	// groupWaiting is more than one process executes at once.
	groupWaiting = 4096
)

// groups lets runs that begin or end a step at about the same time share a transaction, because one costs much more
// than a row of it. Nobody waits in order to be grouped.
type batcher[T, R any] struct {
	members *coalesce.Batcher[T, outcome[R]]
}

// outcome is what became of one member.
type outcome[R any] struct {
	result R
	err    error
}

// newBatcher makes groups whose transaction is transact, which returns one result for each item, in their order.
func newBatcher[T, R any](weigh func(T) int, transact func(context.Context, []T) ([]R, error)) batcher[T, R] {
	return batcher[T, R]{coalesce.New(coalesce.Limits{
		Batches: groupsAtOnce, MinBatch: groupMembers, OverlapAfter: groupPatience,
		Members: groupMembers, Weight: groupMembers + groupFindings,
		Waiting: groupWaiting, WaitingWeight: groupWaiting * (groupMembers + groupFindings),
	}, weigh, func(ctx context.Context, items []T) []outcome[R] {
		// The one who leads a group may have to stop, and the others not.
		return together(context.WithoutCancel(ctx), items, transact)
	})}
}

// do has the transaction done for the item. Once its turn has come it is done, whatever becomes of the context.
func (g batcher[T, R]) do(ctx context.Context, item T) (R, error) {
	done, err := g.members.Do(ctx, item)
	if err != nil {
		return done.result, fmt.Errorf("wait for the turn: %w", err)
	}
	return done.result, done.err
}

// together does the transaction for all, or for each alone where one of them is at fault or is held up by another
// process: that is not the others' trouble.
func together[T, R any](
	ctx context.Context, items []T, transact func(context.Context, []T) ([]R, error),
) []outcome[R] {
	results, err := transact(ctx, items)
	apart := len(items) > 1 && (db.IsMemberFault(err) || db.IsLockTimeout(err))
	outcomes := make([]outcome[R], len(items))
	for i := range items {
		switch {
		case err == nil:
			outcomes[i].result = results[i]
		case apart:
			outcomes[i] = together(ctx, items[i:i+1], transact)[0]
		default:
			outcomes[i].err = err
		}
	}
	return outcomes
}
