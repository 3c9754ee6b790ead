package share

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
)

const (
	// part divides what there is: while others wait, one organization gets at most half, so that the others together
	// always find as much as the busiest has.
	part = 2
	// guestShare is the part of the memory that is there beyond the total for organizations that have none of it.
	guestShare = 8
)

// Places are taken by pieces of work. The order of arrival counts inside of an organization; between organizations the
// one that has the fewest places comes first.
type Places struct {
	total  int
	memory int64

	mu      sync.Mutex
	taken   Held[uuid.UUID, int]
	used    Held[uuid.UUID, int64]
	waiting []*waiter
	// closed is why no more places are given out, and nil while the places are open.
	closed error
}

// waiter is a piece of work that waits for its place.
type waiter struct {
	org    uuid.UUID
	memory int64
	// passed is how often a later waiter was served before this one.
	passed int
	// served is closed when the waiter has its place, or with err set when it will get none.
	served chan struct{}
	err    error
}

// Usage is how much is taken, of how much.
type Usage struct {
	Taken, Places, Waiting int
	Used, Memory           int64
}

// New makes so many places, with a budget of memory in bytes for all of them.
func New(places int, memory int64) *Places { return &Places{total: places, memory: memory} }

// Take waits for a place and for so many bytes of memory, and returns what gives them back. It fails when ctx ends
// before, with the cause of that, and when the places are closed, with the reason.
//
// While another organization waits, one gets at most half of the places and of the memory; alone it may have all.
// An organization that has nothing is given one place, and an eighth of the memory, beyond the total rather than kept
// waiting for another one's work. What needs more memory than there is runs alone.
func (p *Places) Take(ctx context.Context, org uuid.UUID, memory int64) (func(), error) {
	w := &waiter{org: org, memory: min(memory, p.memory), served: make(chan struct{})}
	if err := p.join(w); err != nil {
		return nil, err
	}
	select {
	case <-w.served:
		if w.err != nil {
			return nil, w.err
		}
		return func() { p.giveBack(w) }, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	place := slices.Index(p.waiting, w)
	if place >= 0 {
		p.waiting = slices.Delete(p.waiting, place, place+1)
		// Others may have waited for this one's turn.
		p.serve()
	}
	p.mu.Unlock()
	if place < 0 && w.err == nil {
		p.giveBack(w)
	}
	return nil, context.Cause(ctx)
}

// TryTake takes a place and so many bytes of memory if they are free now, and returns what gives them back. It takes
// nothing while another piece of work waits. While another organization has something, one gets at most half; alone
// it may take all, and the next organization is given one place beyond the total.
func (p *Places) TryTake(org uuid.UUID, memory int64) (func(), bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{org: org, memory: memory}
	contested := p.taken.Others(org)
	if p.closed != nil || len(p.waiting) > 0 || !p.hasPlace(w, contested) || !p.hasMemory(w, contested) {
		return nil, false
	}
	p.take(w)
	return func() { p.giveBack(w) }, true
}

// Close refuses all that wait, now and from now on, for a reason. What is taken stays taken.
func (p *Places) Close(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = reason
	for _, w := range p.waiting {
		w.err = reason
		close(w.served)
	}
	p.waiting = nil
}

// Usage returns what is taken now.
func (p *Places) Usage() Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Usage{Taken: p.taken.All(), Places: p.total, Waiting: len(p.waiting), Used: p.used.All(), Memory: p.memory}
}

func (p *Places) join(w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed != nil {
		return p.closed
	}
	p.waiting = append(p.waiting, w)
	p.serve()
	return nil
}

func (p *Places) giveBack(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken.Add(w.org, -1)
	p.used.Add(w.org, -w.memory)
	p.serve()
}

// serve gives places to waiters until none can have one.
func (p *Places) serve() {
	for {
		next := p.next()
		if next < 0 {
			return
		}
		w := p.waiting[next]
		for _, before := range p.waiting[:next] {
			before.passed++
		}
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.take(w)
		close(w.served)
	}
}

func (p *Places) take(w *waiter) {
	p.taken.Add(w.org, 1)
	p.used.Add(w.org, w.memory)
}

// next returns the waiter whose turn it is, and -1 if none can be served: of the first waiters of all organizations
// that of the organization with the fewest places.
func (p *Places) next() int {
	best := -1
	seen := make(map[uuid.UUID]bool)
	for i, w := range p.waiting {
		if seen[w.org] {
			continue
		}
		seen[w.org] = true
		contested := p.othersWait(w.org)
		fits := p.hasPlace(w, contested) && p.hasMemory(w, contested)
		if !fits && w.passed >= p.patience() && p.hasPlace(w, contested) && p.used.Of(w.org) == 0 {
			// It was passed over for long enough: what is given back from now on is kept for it. An organization that
			// has a part of the memory waits for its own work instead.
			return -1
		}
		if fits && (best < 0 || p.taken.Of(w.org) < p.taken.Of(p.waiting[best].org)) {
			best = i
		}
	}
	return best
}

// patience is how often a waiter is passed over before returned memory is kept for it.
func (p *Places) patience() int { return 2 * p.total }

// hasPlace reports whether there is a place for a waiter. In a contest an organization gets at most half.
func (p *Places) hasPlace(w *waiter, contested bool) bool {
	held := p.taken.Of(w.org)
	switch {
	case held == 0:
		return p.taken.All() <= p.total && p.total > 0
	case p.taken.All() >= p.total:
		return false
	default:
		return held < max(1, p.total/part) || !contested
	}
}

// hasMemory is hasPlace for memory.
func (p *Places) hasMemory(w *waiter, contested bool) bool {
	held := p.used.Of(w.org)
	switch {
	case w.memory == 0:
		return true
	case held == 0 && w.memory <= p.memory/guestShare:
		return p.used.All()+w.memory <= p.memory+p.memory/guestShare
	case p.used.All()+w.memory > p.memory:
		return false
	default:
		return held == 0 || held+w.memory <= p.memory/part || !contested
	}
}

func (p *Places) othersWait(org uuid.UUID) bool {
	return slices.ContainsFunc(p.waiting, func(w *waiter) bool { return w.org != org })
}
