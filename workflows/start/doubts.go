package start

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// doubtAtLeast is how long an organization is doubted after a refusal, whatever it is granted meanwhile. Otherwise
	// one could make batch after batch give up its transaction.
	doubtAtLeast = 10 * time.Second
	// maxDoubts bounds the memory of doubts. An organization that is forgotten costs one transaction that is given up.
	maxDoubts = 10_000
)

// doubts are the organizations whose starts cannot be expected to be granted, because one was refused lately: their
// quota is used up, or their clients use a key at the same time. Their starts, and those that share a batch with them,
// are decided in two round trips, as a transaction that is given up costs more than that.
type doubts struct {
	mu sync.Mutex
	// since is when each organization was last refused a start.
	since map[uuid.UUID]time.Time
}

func newDoubts() *doubts { return &doubts{since: make(map[uuid.UUID]time.Time)} }

// about reports whether the attempts cannot be expected to be granted. Reruns need their documents, and a run that is
// held is not charged; both are decided in two round trips as well.
func (d *doubts) about(attempts []*attempt) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(attempts, func(a *attempt) bool {
		_, doubted := d.since[a.orgID()]
		return doubted || a.isRerun() || a.run.Held
	})
}

// learn remembers which organizations were refused a start, and forgets those that were granted one long enough after
// their last refusal.
func (d *doubts) learn(attempts []*attempt) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range attempts {
		switch since, doubted := d.since[a.orgID()]; {
		case !a.goesOn():
			if len(d.since) >= maxDoubts && !doubted {
				clear(d.since)
			}
			d.since[a.orgID()] = now
		case doubted && now.Sub(since) >= doubtAtLeast:
			delete(d.since, a.orgID())
		}
	}
}
