// Package progress lets requests wait for the progress of runs, from memory where the run is executed here, and streams
// it: the events of a run to API clients, and to open pages what has changed of what they show.
package progress

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

// WaitInterval is how often the database is asked about the runs that requests wait for.
const WaitInterval = 100 * time.Millisecond

// Waiters lets requests, and the executions of runs, wait for the progress of runs. What this process has committed
// releases them at once. For the runs of other processes one query per WaitInterval asks, however many wait; none is
// sent while none waits.
type Waiters struct {
	db *db.DB

	mu      sync.Mutex
	waiting map[*waiter]struct{}
	// byRun are the waiters that wait for a run, among others.
	byRun  map[RunKey]map[*waiter]struct{}
	closed chan struct{}
}

// RunKey names a run.
type RunKey struct {
	OrgID uuid.UUID
	ID    uuid.UUID
}

// Watch is an event to wait for: that the run's progress is beyond Beyond. If Newer is set, it is that the organization
// has a run newer than this one.
type Watch struct {
	RunKey

	Beyond validations.Progress
	Newer  bool
}

// waiter is a request that waits until one of its watches has happened.
type waiter struct {
	watches  []Watch
	happened chan struct{}
}

// NewWaiters makes Waiters. A loop has to call RunOnce every WaitInterval.
func NewWaiters(database *db.DB) *Waiters {
	return &Waiters{
		db: database, waiting: make(map[*waiter]struct{}), byRun: make(map[RunKey]map[*waiter]struct{}),
		closed: make(chan struct{}),
	}
}

// AwaitEnd returns when the run is completed, when the limit is over, when ctx ends or when the process stops. It
// reports whether the run was completed. This process may be executing it: the value true of the execution ends the
// wait as well. A nil channel stands for no execution.
func (w *Waiters) AwaitEnd(ctx context.Context, run RunKey, executed <-chan bool, limit time.Duration) bool {
	return w.await(ctx, []Watch{{RunKey: run, Beyond: validations.ProgressCompleted - 1}}, executed, limit)
}

// AwaitCompleted returns true when the run is completed, and false when ctx ends before, or the process stops.
func (w *Waiters) AwaitCompleted(ctx context.Context, orgID, runID uuid.UUID) bool {
	return w.AwaitEnd(ctx, RunKey{OrgID: orgID, ID: runID}, nil, math.MaxInt64)
}

// AwaitAny returns as AwaitEnd does, when the first of several events has happened.
func (w *Waiters) AwaitAny(ctx context.Context, watches []Watch, limit time.Duration) bool {
	return w.await(ctx, watches, nil, limit)
}

func (w *Waiters) await(ctx context.Context, watches []Watch, executed <-chan bool, limit time.Duration) bool {
	own := &waiter{watches: watches, happened: make(chan struct{})}
	w.enter(own)
	defer w.leave(own)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-own.happened:
			return true
		case completed := <-executed:
			if completed {
				return true
			}
			// The run goes on elsewhere.
			executed = nil
		case <-timer.C:
			return false
		case <-w.closed:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// RunOnce asks for all watches with one query and releases the waiters whose event has happened. It always returns 0,
// because asking again at once would find nothing new.
func (w *Waiters) RunOnce(ctx context.Context) (int, error) {
	var watches []Watch
	var owners []*waiter
	for _, one := range w.all() {
		for _, watch := range one.watches {
			watches, owners = append(watches, watch), append(owners, one)
		}
	}
	if len(watches) == 0 {
		return 0, nil
	}
	happened, err := findHappened(ctx, w.db, watches)
	if err != nil {
		return 0, err
	}
	for _, index := range happened {
		w.release(owners[index])
	}
	return 0, nil
}

// Open reports whether requests may still wait. It is false once the process stops.
func (w *Waiters) Open() bool {
	select {
	case <-w.closed:
		return false
	default:
		return true
	}
}

// Close releases all waiters, now and from now on, so that they do not delay the server's shutdown. It may be called
// once.
func (w *Waiters) Close() {
	close(w.closed)
}

// Announce releases the waiters that wait for less than this progress of the run.
func (w *Waiters) Announce(orgID, runID uuid.UUID, progress validations.Progress) {
	run := RunKey{OrgID: orgID, ID: runID}
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.byRun[run] {
		if slices.ContainsFunc(one.watches, func(watch Watch) bool {
			return watch.RunKey == run && !watch.Newer && watch.Beyond < progress
		}) {
			close(one.happened)
			w.forget(one)
		}
	}
}

// release ends the waiter's wait. Another goroutine may have done so already.
func (w *Waiters) release(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, waits := w.waiting[one]; waits {
		close(one.happened)
		w.forget(one)
	}
}

func (w *Waiters) enter(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[one] = struct{}{}
	for _, watch := range one.watches {
		if w.byRun[watch.RunKey] == nil {
			w.byRun[watch.RunKey] = make(map[*waiter]struct{})
		}
		w.byRun[watch.RunKey][one] = struct{}{}
	}
}

func (w *Waiters) leave(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(one)
}

func (w *Waiters) forget(one *waiter) {
	delete(w.waiting, one)
	for _, watch := range one.watches {
		delete(w.byRun[watch.RunKey], one)
		if len(w.byRun[watch.RunKey]) == 0 {
			delete(w.byRun, watch.RunKey)
		}
	}
}

func (w *Waiters) all() []*waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.waiting))
}
