package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// Phase brings a request from one recovery point to the next. It runs outside of any transaction, so
// that it can call others; what it has learnt is written by the Transition that it returns. It may run
// again after a crash, so a call that changes something carries the record's DerivedKey.
//
// An error leaves the request at its recovery point: the client's retry or the completer goes on from there.
type Phase func(ctx context.Context, record Record) (Transition, error)

// Transition writes what a phase has done, in the transaction that also moves the recovery point. Like
// every transaction it may run twice.
type Transition func(ctx context.Context, tx db.Tx) (Outcome, error)

// Outcome is where a transition has brought the request.
type Outcome struct {
	point    Point
	response *Response
}

// Reach is the outcome of a transition after which another phase follows.
func Reach(point Point) Outcome {
	return Outcome{point: point}
}

// Respond is the outcome of the last transition: the response is stored, the key is finished.
func Respond(response Response) Outcome {
	return Outcome{point: PointFinished, response: &response}
}

// Stay is the outcome of a transition after which nothing has changed: the request stays at its recovery
// point, and its key is free for another try.
func Stay() Outcome {
	return Outcome{}
}

// Flow is a request of several phases. The first one is the caller's own transaction, which claims the
// key with Claim.Point set; Phases has one entry for each recovery point but the finished one.
type Flow struct {
	Endpoint Endpoint
	Phases   map[Point]Phase
}

// EngineConfig bounds the holding of keys.
type EngineConfig struct {
	// Lock is how long a holder may be silent before another may take the key over. The heartbeat renews
	// it three times as often.
	Lock time.Duration
}

// Engine drives requests through their phases. Whoever holds a key's lock drives it: the request itself,
// a retry of it, or the completer.
type Engine struct {
	db      *db.DB
	cfg     EngineConfig
	figures *metrics.Keys
	log     *slog.Logger
}

const (
	beatsPerLock  = 3
	unlockTimeout = 5 * time.Second
	// maxErrorText is how many characters are kept of why a request stopped.
	maxErrorText = 500
	// keptAfterwards is how long an answer is kept at least after it is stored, or half of its key's lifetime where
	// that is shorter. It matters where the request has taken about as long as its key lives.
	keptAfterwards = time.Hour
)

var (
	// errLockLost means that another holder has taken the key over; whoever sees it stops without effects.
	errLockLost = errors.New("the key's lock was lost")
	// errPoint means that another release has left the key at a recovery point that this one does not know.
	errPoint = errors.New("the recovery point is unknown to this release")
	errStay  = errors.New("the phase made no progress")
)

// NewEngine makes an Engine.
func NewEngine(database *db.DB, cfg EngineConfig, figures *metrics.Keys, log *slog.Logger) *Engine {
	return &Engine{db: database, cfg: cfg, figures: figures, log: log}
}

// Lock is how long a claim of several phases locks its key.
func (e *Engine) Lock() time.Duration {
	return e.cfg.Lock
}

// Resume takes an abandoned key over and drives it to its end. It answers idempotency_key_in_progress
// when somebody holds the key.
func (e *Engine) Resume(ctx context.Context, flow Flow, record Record) (Record, error) {
	held, err := e.takeOver(ctx, record)
	if err != nil {
		return Record{}, err
	}
	e.figures.TakenOver(metrics.RescuerRetry, 1)
	return e.Drive(ctx, flow, held)
}

// Drive brings a held key to its end and returns the finished record. When that fails the key keeps its
// recovery point and its lock is given back, and the error is unavailable: the same request may be sent again.
func (e *Engine) Drive(ctx context.Context, flow Flow, held Record) (Record, error) {
	driving, stop := core.KeepAlive(ctx, e.cfg.Lock/beatsPerLock, errLockLost, func(ctx context.Context) bool {
		return e.lost(ctx, held)
	})
	finished, err := withoutPanic(func() (Record, error) { return e.drive(driving, flow, held) })
	if err != nil && errors.Is(context.Cause(driving), errLockLost) {
		err = errLockLost
	}
	stop()
	if err == nil {
		return finished, nil
	}
	if errors.Is(err, errLockLost) {
		return e.reread(ctx, held)
	}
	e.giveBack(ctx, held, err)
	if clientErr, ok := errors.AsType[*core.Error](err); ok {
		return Record{}, clientErr
	}
	return Record{}, Resumable(err)
}

func (e *Engine) drive(ctx context.Context, flow Flow, held Record) (Record, error) {
	for !held.Finished() {
		phase, ok := flow.Phases[held.Point]
		if !ok {
			return Record{}, fmt.Errorf("%s at %q: %w", held.Endpoint, held.Point, errPoint)
		}
		moved, err := e.goOn(ctx, phase, held)
		if err != nil {
			return Record{}, err
		}
		if moved.Point == held.Point {
			return Record{}, errStay
		}
		held = moved
	}
	return held, nil
}

// goOn does one phase.
func (e *Engine) goOn(ctx context.Context, phase Phase, held Record) (Record, error) {
	began := time.Now()
	defer func() { e.figures.Phase(string(held.Point), time.Since(began)) }()
	transition, err := phase(ctx, held)
	if err != nil {
		return Record{}, fmt.Errorf("go on from %q: %w", held.Point, err)
	}
	return e.commit(ctx, held, transition)
}

// commit runs a transition in a transaction that is fenced from its beginning: it locks the key's row
// under our epoch and recovery point, or has no effect at all. It returns the record as it is afterwards.
func (e *Engine) commit(ctx context.Context, held Record, transition Transition) (Record, error) {
	return db.InTx(ctx, e.db, func(tx db.Tx) (Record, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE idempotency_keys SET locked_until = now() + $5::bigint * interval '1 millisecond'
			WHERE org_id = $1 AND id = $2 AND epoch = $3 AND recovery_point = $4`,
			held.OrgID, held.ID, held.Epoch, held.Point, e.cfg.Lock.Milliseconds())
		if err != nil {
			return Record{}, fmt.Errorf("fence key %s: %w", held.ID, err)
		}
		if tag.RowsAffected() == 0 {
			return Record{}, errLockLost
		}
		outcome, err := transition(ctx, tx)
		if err != nil || outcome.point == "" {
			return held, err
		}
		return write(ctx, tx, held, outcome)
	})
}

// write moves a held record to where the outcome has brought it. An answer that comes late is kept for a while
// after it is stored: its client has yet to fetch it, and would start anew with a key that has already ended.
func write(ctx context.Context, tx db.Tx, held Record, outcome Outcome) (Record, error) {
	moved := held
	moved.Point = outcome.point
	var err error
	if outcome.response == nil {
		_, err = tx.Exec(ctx, `UPDATE idempotency_keys SET recovery_point = $3 WHERE org_id = $1 AND id = $2`,
			held.OrgID, held.ID, outcome.point)
	} else {
		moved.Response = *outcome.response
		err = tx.QueryRow(ctx, `
			UPDATE idempotency_keys SET recovery_point = $3, locked_until = NULL, retry_at = NULL, last_error = '',
				finished_at = now(),
				expires_at = greatest(expires_at,
					now() + least((expires_at - created_at) / 2, make_interval(secs => $8))),
				response_status = $4, response_body = coalesce($7, ''::bytea),
				response_headers = json_build_object('content_type', $5::text, 'location', $6::text)
			WHERE org_id = $1 AND id = $2
			RETURNING expires_at`,
			held.OrgID, held.ID, PointFinished, moved.Response.Status, moved.Response.Headers.ContentType,
			moved.Response.Headers.Location, moved.Response.Body, keptAfterwards.Seconds()).Scan(&moved.ExpiresAt)
	}
	if err != nil {
		return Record{}, fmt.Errorf("move key %s to %q: %w", held.ID, outcome.point, err)
	}
	return moved, nil
}

// takeOver takes the lock of an abandoned key under the next epoch, so that whatever its last holder
// still does has no effect.
func (e *Engine) takeOver(ctx context.Context, record Record) (Record, error) {
	tag, err := e.db.Pool.Exec(ctx, `
		UPDATE idempotency_keys SET epoch = epoch + 1, locked_until = now() + $5::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND recovery_point = $4 AND locked_until <= now()`,
		record.OrgID, record.ID, record.Epoch, record.Point, e.cfg.Lock.Milliseconds())
	if err != nil {
		return Record{}, Resumable(fmt.Errorf("take key %s over: %w", record.ID, err))
	}
	if tag.RowsAffected() == 0 {
		return Record{}, InProgress(record.LockRest)
	}
	record.Epoch++
	return record, nil
}

// reread answers for a holder whose key was taken over: with the response if it is there by now.
func (e *Engine) reread(ctx context.Context, held Record) (Record, error) {
	record, found, err := Lookup(ctx, e.db, held.OrgID, held.Endpoint, held.Key)
	if err == nil && found && record.ID == held.ID && record.Finished() {
		return record, nil
	}
	return Record{}, Resumable(errors.Join(errLockLost, err))
}

// giveBack frees the lock at once and notes why the request stopped. It must work after the request's
// context has ended; when it fails, the lock ends by itself.
func (e *Engine) giveBack(ctx context.Context, held Record, reason error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	_, err := e.db.Pool.Exec(ctx, `
		UPDATE idempotency_keys SET locked_until = now(), last_error = $4
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND recovery_point <> $5`,
		held.OrgID, held.ID, held.Epoch, core.StorableUpTo(reason.Error(), maxErrorText), PointFinished)
	if err != nil {
		e.log.WarnContext(ctx, "key not given back", "key_id", held.ID, "error", err)
	}
}

// lost renews the lock and reports whether somebody else has it. A failed renewal is tried again at the
// next beat, and if none gets through the lock ends by itself.
func (e *Engine) lost(ctx context.Context, held Record) bool {
	tag, err := e.db.Pool.Exec(ctx, `
		UPDATE idempotency_keys SET locked_until = now() + $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND recovery_point <> $5`,
		held.OrgID, held.ID, held.Epoch, e.cfg.Lock.Milliseconds(), PointFinished)
	return err == nil && tag.RowsAffected() == 0 && !e.finished(ctx, held)
}

// finished tells a key that we have just finished from one that was taken from us.
func (e *Engine) finished(ctx context.Context, held Record) bool {
	record, found, err := Lookup(ctx, e.db, held.OrgID, held.Endpoint, held.Key)
	return err == nil && found && record.ID == held.ID && record.Epoch == held.Epoch && record.Finished()
}

// withoutPanic turns a panic of a phase into an error: the key is given back and its tries stay bounded, where a
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

// Resumable says that a request of several phases has begun, and that it goes on when it is sent again.
func Resumable(cause error) *core.Error {
	err := core.NewError(core.CodeUnavailable, "The request has begun but could not be finished right now. "+
		"Send the same request with the same key again: it goes on where it stopped.")
	err.RetryAfter = commitRest
	return err.Because(cause)
}
