package validations

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
)

// WaitInterval is how often the database is asked for all waiting requests of the process together.
const WaitInterval = 100 * time.Millisecond

// progress is how far a run is: 0 pending, then one more than the steps that are done, and progressCompleted.
type progress int32

const progressCompleted progress = math.MaxInt32

func progressOf(run Run) progress {
	switch run.State {
	case StatePending:
		return 0
	case StateRunning:
		return progress(1 + run.RecoveryPoint) //nolint:gosec // a definition has 50 steps at most
	default:
		return progressCompleted
	}
}

// Waiters lets requests wait for runs to get on. However many wait, one query per WaitInterval asks
// for them all, and none while nobody waits.
type Waiters struct {
	db *core.DB

	mu      sync.Mutex
	waiting map[*waiter]struct{}
	closed  chan struct{}
}

// runKey names a run.
type runKey struct {
	OrgID uuid.UUID
	ID    uuid.UUID
}

// waiter waits until a run has got beyond where it was.
type waiter struct {
	run    runKey
	beyond progress
	moved  chan struct{}
}

// NewWaiters makes Waiters; a loop has to call RunOnce.
func NewWaiters(db *core.DB) *Waiters {
	return &Waiters{db: db, waiting: make(map[*waiter]struct{}), closed: make(chan struct{})}
}

// awaitEnd calls begin and returns when the run is completed, when the time is over or when ctx ends,
// whatever is first. An end that begin sets off is not missed.
func (w *Waiters) awaitEnd(ctx context.Context, run runKey, limit time.Duration, begin func()) {
	w.await(ctx, run, progressCompleted-1, limit, begin)
}

// await is awaitEnd for any progress beyond one that is known. It reports whether there was some.
func (w *Waiters) await(
	ctx context.Context, run runKey, beyond progress, limit time.Duration, begin func(),
) bool {
	own := &waiter{run: run, beyond: beyond, moved: make(chan struct{})}
	w.enter(own)
	defer w.leave(own)
	begin()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-own.moved:
		return true
	case <-timer.C:
	case <-w.closed:
	case <-ctx.Done():
	}
	return false
}

// RunOnce asks which of the awaited runs have got on and lets their waiters go. It returns 0, because
// asking again at once would tell nothing new.
func (w *Waiters) RunOnce(ctx context.Context) (int, error) {
	waiting := w.all()
	if len(waiting) == 0 {
		return 0, nil
	}
	rows, err := w.db.Pool.Query(ctx, `
		SELECT w.place FROM unnest($1::uuid[], $2::uuid[], $3::integer[]) WITH ORDINALITY
			AS w (org_id, id, beyond, place)
		JOIN validation_runs AS r ON r.org_id = w.org_id AND r.id = w.id
		WHERE w.beyond < CASE r.state WHEN 'PENDING' THEN 0 WHEN 'RUNNING' THEN 1 + r.recovery_point ELSE $4 END`,
		core.Column(waiting, func(one **waiter) uuid.UUID { return (*one).run.OrgID }),
		core.Column(waiting, func(one **waiter) uuid.UUID { return (*one).run.ID }),
		core.Column(waiting, func(one **waiter) int32 { return int32((*one).beyond) }),
		int32(progressCompleted))
	if err != nil {
		return 0, fmt.Errorf("look for runs that have got on: %w", err)
	}
	moved, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return 0, fmt.Errorf("look for runs that have got on: %w", err)
	}
	for _, place := range moved {
		w.release(waiting[place-1])
	}
	return 0, nil
}

// release lets a waiter go, unless another did so in the meantime.
func (w *Waiters) release(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, waits := w.waiting[one]; waits {
		close(one.moved)
		delete(w.waiting, one)
	}
}

// close lets everybody go, now and from now on. It may be called once.
func (w *Waiters) close() {
	close(w.closed)
}

// open reports whether waiting still makes sense: false once the process is to stop.
func (w *Waiters) open() bool {
	select {
	case <-w.closed:
		return false
	default:
		return true
	}
}

func (w *Waiters) enter(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[one] = struct{}{}
}

func (w *Waiters) leave(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, one)
}

func (w *Waiters) all() []*waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.waiting))
}
