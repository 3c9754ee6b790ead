// Package coalesce lets concurrent callers share work that costs little more for many than for one, such as a commit
// that waits for the disk. It knows nothing of what the work is.
package coalesce

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

var (
	// ErrOverloaded says that too many callers are waiting already and that nothing was done.
	ErrOverloaded = errors.New("too many callers are waiting")
	// errLeaderGone says that the work for a batch ended without a result, because it panicked.
	errLeaderGone = errors.New("the batch's leader ended without a result")
)

// Limits bound a Batcher.
type Limits struct {
	// Batches is how many batches are worked on at once. Two halves of a batch cost more than the whole, so another one
	// begins only when MinBatch callers wait, or callers of the Weight of a batch, or when each of those at work has
	// taken longer than OverlapAfter, where that is not zero.
	Batches      int
	MinBatch     int
	OverlapAfter time.Duration
	// Members and Weight bound a batch. A caller that is heavier by itself is a batch of its own.
	Members int
	Weight  int
	// Waiting is how many callers may wait for their turn, and WaitingWeight how heavy they may be together.
	Waiting       int
	WaitingWeight int
}

// Batcher puts concurrent callers into batches.
//
// No caller waits in order to be batched: one that finds no batch at work begins at once and alone, and those that
// arrive meanwhile form the next batch, in the order of their arrival. Each batch is led by the goroutine of one of its
// members, so nothing runs in the background: when all callers have returned, nothing is left to be drained. Each item
// has a result of its own, and what to retry alone when a batch fails is decided by the work.
type Batcher[T, R any] struct {
	limits Limits
	weigh  func(T) int
	do     func(context.Context, []T) []R

	mu sync.Mutex
	// working is how many batches are at work, and overdue how many of them have taken longer than OverlapAfter.
	working int
	overdue int
	waiting []*member[T, R]
	// waitingWeight is how heavy the waiting callers are together.
	waitingWeight int
}

// member is a caller. When ready is closed, it either leads a batch or has its result.
type member[T, R any] struct {
	item   T
	weight int
	ready  chan struct{}
	leads  bool
	result R
	err    error
}

// New makes a Batcher whose work is do, which gets the leader's context and returns one result for
// each item, in their order.
func New[T, R any](
	limits Limits, weigh func(T) int, do func(context.Context, []T) []R,
) *Batcher[T, R] {
	return &Batcher[T, R]{limits: limits, weigh: weigh, do: do}
}

// Do has the work done for the item, alone or together with others, and returns its result. A caller whose
// context ends leaves as long as its turn has not come; after that Do returns when the work is done.
func (c *Batcher[T, R]) Do(ctx context.Context, item T) (R, error) {
	m := &member[T, R]{item: item, weight: c.weigh(item), ready: make(chan struct{})}
	if !c.join(m) {
		return m.result, ErrOverloaded
	}
	canceled := ctx.Done()
	for {
		select {
		case <-m.ready:
			if m.leads {
				c.lead(ctx, m)
			}
			return m.result, m.err
		case <-canceled:
			if c.leave(m) {
				return m.result, context.Cause(ctx)
			}
			canceled = nil
		}
	}
}

// Waiting is how many callers wait for their turn.
func (c *Batcher[T, R]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// join lets the caller begin if no batch is at work, and otherwise queues it. It reports whether there was room for it.
func (c *Batcher[T, R]) join(m *member[T, R]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working > 0 && (len(c.waiting) == c.limits.Waiting || c.waitingWeight+m.weight > c.limits.WaitingWeight) {
		return false
	}
	c.waiting = append(c.waiting, m)
	c.waitingWeight += m.weight
	c.begin()
	return true
}

// begin lets the first waiting caller lead another batch, when it is time for one.
func (c *Batcher[T, R]) begin() {
	if len(c.waiting) == 0 || c.working == c.limits.Batches {
		return
	}
	enough := len(c.waiting) >= c.limits.MinBatch || c.waitingWeight >= c.limits.Weight
	if c.working > 0 && c.working > c.overdue && !enough {
		return
	}
	c.working++
	first := c.waiting[0]
	c.dequeue(0, 1)
	first.leads = true
	close(first.ready)
}

// leave removes a caller whose turn has not come.
func (c *Batcher[T, R]) leave(m *member[T, R]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, m)
	if i < 0 {
		return false
	}
	c.dequeue(i, i+1)
	return true
}

// lead does the work for the leader and the callers behind it, and then hands over to the next batch. The members get
// an answer also when the work panics; the panic itself goes on in the leader.
func (c *Batcher[T, R]) lead(ctx context.Context, leader *member[T, R]) {
	group := c.gather(leader)
	var results []R
	inTime := func() bool { return true }
	if c.limits.OverlapAfter > 0 {
		inTime = time.AfterFunc(c.limits.OverlapAfter, c.onOverdue).Stop
	}
	defer func() {
		for i, m := range group {
			if i < len(results) {
				m.result = results[i]
			} else {
				m.err = errLeaderGone
			}
			if m != leader {
				close(m.ready)
			}
		}
		c.handOver(!inTime())
	}()
	items := make([]T, len(group))
	for i, m := range group {
		items[i] = m.item
	}
	results = c.do(ctx, items)
}

func (c *Batcher[T, R]) gather(leader *member[T, R]) []*member[T, R] {
	c.mu.Lock()
	defer c.mu.Unlock()
	group, weight := []*member[T, R]{leader}, leader.weight
	for _, m := range c.waiting {
		weight += m.weight
		if len(group) == c.limits.Members || weight > c.limits.Weight {
			break
		}
		group = append(group, m)
	}
	c.dequeue(0, len(group)-1)
	return group
}

// dequeue removes the callers from i up to j from the queue.
func (c *Batcher[T, R]) dequeue(i, j int) {
	for _, m := range c.waiting[i:j] {
		c.waitingWeight -= m.weight
	}
	c.waiting = slices.Delete(c.waiting, i, j)
}

// onOverdue counts a batch that takes longer than OverlapAfter, and lets another begin beside it.
func (c *Batcher[T, R]) onOverdue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overdue++
	c.begin()
}

// handOver gives the place of a batch that has ended to the next one. An overdue one was counted by onOverdue, or is
// about to be.
func (c *Batcher[T, R]) handOver(overdue bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working--
	if overdue {
		c.overdue--
	}
	c.begin()
}
