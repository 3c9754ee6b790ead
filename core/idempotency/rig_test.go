package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// The recovery points of the flow under test: begun by the claim, called after the foreign call, noted.
const (
	pointBegun  idempotency.Point = "begun"
	pointCalled idempotency.Point = "called"
	pointNoted  idempotency.Point = "noted"
)

const (
	// longLock outlasts every test, so the heartbeat never beats in it.
	longLock  = time.Hour
	shortLock = 300 * time.Millisecond
)

// errForeign has bytes that no text column takes, as an error of a foreign service may.
var errForeign = errors.New("the foreign service is down: \x00\xff")

// rig is a flow of three phases that counts its effects.
type rig struct {
	db     *db.DB
	org    uuid.UUID
	engine *idempotency.Engine
	flow   idempotency.Flow

	mu sync.Mutex
	// calls are the keys that the foreign service was called with.
	calls []string
	// before is called when a phase begins, at the point that it begins from.
	before func(ctx context.Context, record idempotency.Record) error
}

func newRig(t *testing.T, lock time.Duration) *rig {
	t.Helper()
	r := &rig{db: setup(t), org: uuid.New()}
	r.before = func(context.Context, idempotency.Record) error { return nil }
	r.exec(t, `CREATE TABLE effects (n serial, key_id uuid, point text)`)
	r.engine = idempotency.NewEngine(r.db, idempotency.EngineConfig{Lock: lock}, metrics.New("").Keys,
		slog.New(slog.DiscardHandler))
	r.flow = idempotency.Flow{Endpoint: endpoint, Phases: map[idempotency.Point]idempotency.Phase{
		pointBegun:  r.phase(idempotency.Reach(pointCalled)),
		pointCalled: r.phase(idempotency.Reach(pointNoted)),
		pointNoted:  r.phase(idempotency.Respond(wantResponse())),
	}}
	return r
}

func wantResponse() idempotency.Response {
	return idempotency.Response{
		Status:  http.StatusCreated,
		Headers: idempotency.ResponseHeaders{ContentType: "text/plain", Location: "/made"},
		Body:    []byte("{\"b\": 1,  \"a\":1.0} \x00\xff\n"),
	}
}

// phase calls the foreign service from the first point, and leaves one row behind at each.
func (r *rig) phase(outcome idempotency.Outcome) idempotency.Phase {
	return func(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
		if record.Point == pointBegun {
			r.mu.Lock()
			r.calls = append(r.calls, record.DerivedKey("call"))
			r.mu.Unlock()
		}
		if err := r.hook()(ctx, record); err != nil {
			return nil, err
		}
		return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
			_, err := tx.Exec(ctx, `INSERT INTO effects (key_id, point) VALUES ($1, $2)`, record.ID, record.Point)
			return outcome, err
		}, nil
	}
}

func (r *rig) hook() func(context.Context, idempotency.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.before
}

func (r *rig) onPhase(before func(context.Context, idempotency.Record) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = before
}

// failAt makes the phase from the point fail.
func (r *rig) failAt(point idempotency.Point) {
	r.onPhase(func(_ context.Context, record idempotency.Record) error {
		if record.Point == point {
			return errForeign
		}
		return nil
	})
}

// recover lets everything succeed from now on.
func (r *rig) recover() {
	r.onPhase(func(context.Context, idempotency.Record) error { return nil })
}

// blockAt makes the first phase from the point wait. The channel is closed when it does.
func (r *rig) blockAt(t *testing.T, point idempotency.Point) (<-chan struct{}, func()) {
	t.Helper()
	blocked, free := make(chan struct{}), make(chan struct{})
	var taken atomic.Bool
	r.onPhase(func(_ context.Context, record idempotency.Record) error {
		if record.Point == point && taken.CompareAndSwap(false, true) {
			close(blocked)
			<-free
		}
		return nil
	})
	release := sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	return blocked, release
}

// begin claims a key for the flow, as a request's own transaction does.
func (r *rig) begin(t *testing.T, key string) idempotency.Record {
	t.Helper()
	claim := newClaim(r.org, key, key)
	claim.Response, claim.Point, claim.Lock = idempotency.Response{}, pointBegun, r.engine.Lock()
	outcome := mustClaim(t, r.db, claim)[0]
	if !outcome.Claimed {
		t.Fatalf("outcome = %+v, want claimed", outcome)
	}
	return claim.Record(outcome.ExpiresAt)
}

func (r *rig) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := r.db.Pool.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (r *rig) lookup(t *testing.T, key string) idempotency.Record {
	t.Helper()
	record, found, err := idempotency.Lookup(t.Context(), r.db, r.org, endpoint, key)
	if err != nil || !found {
		t.Fatalf("lookup of %s = %t, %v, want found", key, found, err)
	}
	return record
}

// expireLock ends the lock, as time would.
func (r *rig) expireLock(t *testing.T, key string) {
	t.Helper()
	r.exec(t, `UPDATE idempotency_keys SET locked_until = now() WHERE key = $1`, key)
}

func (r *rig) resume(t *testing.T, key string) (idempotency.Record, error) {
	t.Helper()
	return r.engine.Resume(t.Context(), r.flow, r.lookup(t, key))
}

// wantFinished checks that the key is finished and free, under the epoch, and that each phase has had one effect.
func (r *rig) wantFinished(t *testing.T, key string, epoch int) {
	t.Helper()
	record := r.lookup(t, key)
	if diff := cmp.Diff(wantResponse(), record.Response); diff != "" || record.Point != idempotency.PointFinished {
		t.Errorf("record at %q, response (-want +got):\n%s", record.Point, diff)
	}
	if record.Epoch != epoch {
		t.Errorf("epoch = %d, want %d", record.Epoch, epoch)
	}
	var free bool
	if err := r.db.Pool.QueryRow(t.Context(), `SELECT locked_until IS NULL AND retry_at IS NULL AND last_error = ''
		FROM idempotency_keys WHERE id = $1`, record.ID).Scan(&free); err != nil || !free {
		t.Errorf("finished key is free = %t, %v, want true", free, err)
	}
	r.wantEffects(t, record.ID, "begun called noted")
}

func (r *rig) wantEffects(t *testing.T, id uuid.UUID, want string) {
	t.Helper()
	rows, err := r.db.Pool.Query(t.Context(), `SELECT point FROM effects WHERE key_id = $1 ORDER BY n`, id)
	if err != nil {
		t.Fatal(err)
	}
	points, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if got := strings.Join(points, " "); err != nil || got != want {
		t.Errorf("effects = %q, %v, want %q", got, err, want)
	}
}

// wantCalls checks how often the foreign service was called, always with one key.
func (r *rig) wantCalls(t *testing.T, record idempotency.Record, want int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) != want {
		t.Errorf("foreign calls = %d, want %d", len(r.calls), want)
	}
	for _, key := range r.calls {
		if key != "sv-call-"+record.ID.String() {
			t.Errorf("key of a foreign call = %s, want sv-call-%s", key, record.ID)
		}
	}
}

// wantResumable checks that the error asks the client to send the same request again.
func wantResumable(t *testing.T, err error) {
	t.Helper()
	checkCode(t, err, api.CodeUnavailable)
	if problem := core.AsError(err); !problem.Retryable || problem.RetryAfter <= 0 {
		t.Errorf("error = %+v, want retryable after a time", problem)
	}
}
