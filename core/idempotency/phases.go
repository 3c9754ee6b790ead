package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// Phase brings a request from one recovery point to the next. It runs outside of any transaction, so that it can call
// other services; the Transition that it returns writes what it has learnt. It may run again after a crash, so a call
// that changes something carries the record's DerivedKey.
//
// An error leaves the request at its recovery point, and the client's retry or the completer goes on from there.
type Phase func(ctx context.Context, record Record) (Transition, error)

// Transition writes what a phase has done, in the transaction that also advances the recovery point. Like every
// transaction it may run twice.
type Transition func(ctx context.Context, tx db.Tx) (Outcome, error)

// Outcome is what a transition has brought the request to.
type Outcome struct {
	point    Point
	response *Response
}

// Reach is the outcome of a transition after which another phase follows. The point must be a new one.
func Reach(point Point) Outcome {
	return Outcome{point: point}
}

// Respond is the outcome of the last transition: the response is stored and the key is finished.
func Respond(response Response) Outcome {
	return Outcome{point: PointFinished, response: &response}
}

// Flow is a request of several phases. Its first transaction is the caller's own, which claims the key with Claim.Point
// set. Phases has one entry for each recovery point but the finished one.
type Flow struct {
	Endpoint Endpoint
	Phases   map[Point]Phase
}

// EngineConfig bounds how long keys are locked.
type EngineConfig struct {
	// Lock is how long a holder may be silent before another process may take the key over. The heartbeat renews it
	// three times as often.
	Lock time.Duration
}

// Engine drives requests through their phases. The holder of a key's lock drives it: the request itself, a retry of it,
// or the completer.
type Engine struct {
	db      *db.DB
	cfg     EngineConfig
	metrics *metrics.Keys
	log     *slog.Logger
}

const (
	// beatsPerLock lets two heartbeats get lost before another process may take the key over.
	beatsPerLock = 3
	// unlockTimeout is short because an unreachable database must not delay the answer: the lock expires by itself.
	unlockTimeout = 5 * time.Second
	// maxErrorText is how many characters are kept of why a request stopped.
	maxErrorText = 500
)

var (
	// errLockLost means that another process has taken the key over. The holder stops without effects.
	errLockLost = errors.New("the key's lock was lost")
	// errPoint means that another release has left the key at a recovery point that this one does not know.
	errPoint = errors.New("the recovery point is unknown to this release")
	// errNoProgress means that a phase would be repeated forever.
	errNoProgress = errors.New("the phase made no progress")
)

// NewEngine makes an Engine.
func NewEngine(database *db.DB, cfg EngineConfig, measured *metrics.Keys, log *slog.Logger) *Engine {
	return &Engine{db: database, cfg: cfg, metrics: measured, log: log}
}

// Lock is how long a claim of several phases locks its key.
func (e *Engine) Lock() time.Duration {
	return e.cfg.Lock
}

// Resume takes an abandoned key over and drives it to its end. The error is idempotency_key_in_progress when another
// process holds the key.
func (e *Engine) Resume(ctx context.Context, flow Flow, record Record) (Record, error) {
	taken, err := e.takeOver(ctx, record)
	if err != nil {
		return Record{}, err
	}
	e.metrics.TakenOver(metrics.RescuerRetry, 1)
	return e.Drive(ctx, flow, taken)
}

// Drive drives a key that the caller has locked to its end, and returns the finished record. When a phase fails the key
// keeps its recovery point, its lock is released, and the error is unavailable: the same request may be sent again.
func (e *Engine) Drive(ctx context.Context, flow Flow, record Record) (Record, error) {
	driving, stop := core.KeepAlive(ctx, e.cfg.Lock/beatsPerLock, errLockLost, func(ctx context.Context) bool {
		return e.lost(ctx, record)
	})
	finished, err := withoutPanic(func() (Record, error) { return e.drive(driving, flow, record) })
	if err != nil && errors.Is(context.Cause(driving), errLockLost) {
		err = errLockLost
	}
	// The heartbeat ends before the lock is released, or it would renew the lock once more.
	stop()
	if err == nil {
		return finished, nil
	}
	if errors.Is(err, errLockLost) {
		return e.reread(ctx, record)
	}
	e.unlock(ctx, record, err)
	if clientErr, ok := errors.AsType[*core.Error](err); ok {
		return Record{}, clientErr
	}
	return Record{}, Resumable(err)
}

// drive runs phase after phase. Each one ends in a commit at a new recovery point, so the loop ends as well.
func (e *Engine) drive(ctx context.Context, flow Flow, record Record) (Record, error) {
	for !record.Finished() {
		phase, ok := flow.Phases[record.Point]
		if !ok {
			return Record{}, fmt.Errorf("%s at %q: %w", record.Endpoint, record.Point, errPoint)
		}
		var err error
		if record, err = e.runPhase(ctx, phase, record); err != nil {
			return Record{}, err
		}
	}
	return record, nil
}

// runPhase runs the phase from the record's recovery point, and measures it whether it fails or not.
func (e *Engine) runPhase(ctx context.Context, phase Phase, record Record) (Record, error) {
	began := time.Now()
	defer func() { e.metrics.Phase(string(record.Point), time.Since(began)) }()
	transition, err := phase(ctx, record)
	if err != nil {
		return Record{}, fmt.Errorf("go on from %q: %w", record.Point, err)
	}
	return e.commit(ctx, record, transition)
}

// commit runs a transition in a transaction that is fenced from its beginning, and returns the record as it is
// afterwards. A holder whose key was taken over therefore has no effect, even if it was frozen for hours.
func (e *Engine) commit(ctx context.Context, record Record, transition Transition) (Record, error) {
	return db.InTx(ctx, e.db, func(tx db.Tx) (Record, error) {
		if err := fence(ctx, tx, record, e.cfg.Lock); err != nil {
			return Record{}, err
		}
		outcome, err := transition(ctx, tx)
		if err != nil {
			return Record{}, err
		}
		if outcome.point == "" || outcome.point == record.Point {
			return Record{}, fmt.Errorf("%s at %q: %w", record.Endpoint, record.Point, errNoProgress)
		}
		return storeOutcome(ctx, tx, record, outcome)
	})
}

// reread answers for a holder whose key was taken over: with the response if its successor has stored one by now.
func (e *Engine) reread(ctx context.Context, lost Record) (Record, error) {
	record, found, err := Lookup(ctx, e.db, lost.OrgID, lost.Endpoint, lost.Key)
	if err == nil && found && record.ID == lost.ID && record.Finished() {
		return record, nil
	}
	return Record{}, Resumable(errors.Join(errLockLost, err))
}

// unlock releases the lock at once and keeps why the request stopped. It must work after the request's context has
// ended. When it fails, the lock expires by itself.
func (e *Engine) unlock(ctx context.Context, record Record, reason error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	if err := e.storeError(ctx, record, core.StorableUpTo(reason.Error(), maxErrorText)); err != nil {
		e.log.WarnContext(ctx, "key not unlocked", "key_id", record.ID, "error", err)
	}
}

// lost renews the lock and reports whether another process has it. A failed renewal is tried again at the next beat; if
// none gets through, the lock expires.
func (e *Engine) lost(ctx context.Context, record Record) bool {
	renewed, err := e.renew(ctx, record)
	return err == nil && !renewed && !e.finished(ctx, record)
}

// finished distinguishes a key that this holder has just finished from one that was taken over: neither can be renewed.
func (e *Engine) finished(ctx context.Context, driven Record) bool {
	record, found, err := Lookup(ctx, e.db, driven.OrgID, driven.Endpoint, driven.Key)
	return err == nil && found && record.ID == driven.ID && record.Epoch == driven.Epoch && record.Finished()
}

// withoutPanic turns a panic of a phase into an error. The key is then unlocked and its tries stay bounded, where a
// panic would end the process of every completer that takes the key.
func withoutPanic(drive func() (Record, error)) (Record, error) {
	var (
		finished Record
		err      error
	)
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		finished, err = drive()
	}()
	return finished, err
}

// Resumable returns the error of a request of several phases that has begun, and goes on when it is sent again.
func Resumable(cause error) *core.Error {
	err := core.NewError(api.CodeUnavailable, "The request has begun but could not be finished right now. "+
		"Send the same request with the same key again: it resumes where it stopped.")
	err.RetryAfter = minRetryAfter
	return err.Because(cause)
}
