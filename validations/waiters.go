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

	"github.com/simplevalidations/simplevalidations/core/db"
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
	db *db.DB

	mu      sync.Mutex
	waiting map[*waiter]struct{}
	closed  chan struct{}
}

// runKey names a run.
type runKey struct {
	OrgID uuid.UUID
	ID    uuid.UUID
}

// watch is what somebody waits for: that a run has got beyond where it was or, where newer is set, that its
// organization has a newer one.
type watch struct {
	runKey
	beyond progress
	newer  bool
}

// waiter waits until something that it watches has happened.
type waiter struct {
	watches []watch
	moved   chan struct{}
}

// NewWaiters makes Waiters; a loop has to call RunOnce.
func NewWaiters(database *db.DB) *Waiters {
	return &Waiters{db: database, waiting: make(map[*waiter]struct{}), closed: make(chan struct{})}
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
	return w.awaitAny(ctx, []watch{{runKey: run, beyond: beyond}}, limit, begin)
}

// awaitAny is await for whichever of several things happens first.
func (w *Waiters) awaitAny(ctx context.Context, watches []watch, limit time.Duration, begin func()) bool {
	own := &waiter{watches: watches, moved: make(chan struct{})}
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

// RunOnce asks for everything that is watched, with one query, and lets those go for whom it has happened. It returns
// 0, because asking again at once would tell nothing new.
func (w *Waiters) RunOnce(ctx context.Context) (int, error) {
	var watches []watch
	var watchers []*waiter
	for _, one := range w.all() {
		for _, watched := range one.watches {
			watches, watchers = append(watches, watched), append(watchers, one)
		}
	}
	if len(watches) == 0 {
		return 0, nil
	}
	rows, err := w.db.Pool.Query(ctx, `
		SELECT w.place FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::boolean[]) WITH ORDINALITY
			AS w (org_id, id, beyond, newer, place)
		LEFT JOIN validation_runs AS r ON r.org_id = w.org_id AND r.id = w.id AND NOT w.newer
		WHERE CASE WHEN w.newer
			THEN EXISTS (SELECT FROM validation_runs AS n WHERE n.org_id = w.org_id AND n.id > w.id)
			ELSE w.beyond < (CASE r.state WHEN 'PENDING' THEN 0 WHEN 'RUNNING' THEN 1 + r.recovery_point
				WHEN 'COMPLETED' THEN $5 END)
			END`,
		db.Column(watches, func(one *watch) uuid.UUID { return one.OrgID }),
		db.Column(watches, func(one *watch) uuid.UUID { return one.ID }),
		db.Column(watches, func(one *watch) int32 { return int32(one.beyond) }),
		db.Column(watches, func(one *watch) bool { return one.newer }),
		int32(progressCompleted))
	if err != nil {
		return 0, fmt.Errorf("look for runs that have got on: %w", err)
	}
	moved, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return 0, fmt.Errorf("look for runs that have got on: %w", err)
	}
	for _, place := range moved {
		w.release(watchers[place-1])
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
