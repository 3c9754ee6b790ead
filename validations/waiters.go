package validations

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
)

// WaitInterval is how often the database is asked for all waiting requests of the process together.
const WaitInterval = 100 * time.Millisecond

// Waiters lets requests wait for the end of runs. However many wait, one query per WaitInterval asks
// for them all, and none while nobody waits.
type Waiters struct {
	db *core.DB

	mu      sync.Mutex
	waiting map[runKey]*waited
	closed  chan struct{}
}

// runKey names a run.
type runKey struct {
	OrgID uuid.UUID
	ID    uuid.UUID
}

// waited is a run that somebody waits for.
type waited struct {
	done    chan struct{}
	waiters int
}

// NewWaiters makes Waiters; a loop has to call RunOnce.
func NewWaiters(db *core.DB) *Waiters {
	return &Waiters{db: db, waiting: make(map[runKey]*waited), closed: make(chan struct{})}
}

// wait calls begin and returns when the run is completed, when the time is over or when ctx ends,
// whatever is first. An end that begin sets off is not missed.
func (w *Waiters) wait(ctx context.Context, key runKey, limit time.Duration, begin func()) {
	done := w.enter(key)
	defer w.leave(key)
	begin()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-w.closed:
	case <-ctx.Done():
	}
}

// RunOnce asks which of the awaited runs are completed and lets their waiters go. It returns 0, because
// asking again at once would tell nothing new.
func (w *Waiters) RunOnce(ctx context.Context) (int, error) {
	keys := w.awaited()
	if len(keys) == 0 {
		return 0, nil
	}
	rows, err := w.db.Pool.Query(ctx, `
		SELECT org_id, id FROM validation_runs
		WHERE (org_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[])) AND state = 'COMPLETED'`,
		core.Column(keys, func(k *runKey) uuid.UUID { return k.OrgID }),
		core.Column(keys, func(k *runKey) uuid.UUID { return k.ID }))
	if err != nil {
		return 0, fmt.Errorf("look for completed runs: %w", err)
	}
	completed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[runKey])
	if err != nil {
		return 0, fmt.Errorf("look for completed runs: %w", err)
	}
	for _, key := range completed {
		w.release(key)
	}
	return 0, nil
}

// release lets everybody go who waits for the run.
func (w *Waiters) release(key runKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if run, ok := w.waiting[key]; ok {
		close(run.done)
		delete(w.waiting, key)
	}
}

// close lets everybody go, now and from now on. It may be called once.
func (w *Waiters) close() {
	close(w.closed)
}

func (w *Waiters) enter(key runKey) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	run, ok := w.waiting[key]
	if !ok {
		run = &waited{done: make(chan struct{})}
		w.waiting[key] = run
	}
	run.waiters++
	return run.done
}

func (w *Waiters) leave(key runKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run, ok := w.waiting[key]
	if !ok {
		return
	}
	run.waiters--
	if run.waiters == 0 {
		delete(w.waiting, key)
	}
}

func (w *Waiters) awaited() []runKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]runKey, 0, len(w.waiting))
	for key := range w.waiting {
		keys = append(keys, key)
	}
	return keys
}
