package idempotency_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// TestModel does to keys whatever can be done to them, in any order, and compares the database with a model after each
// step. Beside the model it checks what is promised of every use of a key: each effect comes at most once, the recovery
// point and the epoch never fall, two holders never share an epoch, a stored answer never changes, and no key is
// deleted that is unfinished or not expired.
//
// It shows that claim, fence, takeover, completion, release, expiry and purge keep these promises in whatever order
// whole steps come, also those of holders that have lost their lock. The effects stand for the charge and the run. It
// does not show what happens within a step: steps that overlap are in TestClaimRaces, TestEngineRace and
// TestEngineTakesOver, and those of starts in start.TestEveryInterleaving. The heartbeat never beats here
// (TestEngineKeepsASlowPhasesKey), and time passes only where a step says so.
func TestModel(t *testing.T) {
	t.Parallel()
	database := setup(t)
	_, err := database.Pool.Exec(t.Context(), `CREATE TABLE effects (n serial, key_id uuid, point text)`)
	if err != nil {
		t.Fatal(err)
	}
	for range modelRounds {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(t, database)
			t.Cleanup(w.requests.Wait)
			t.Repeat(map[string]func(*rapid.T){
				"":              w.check,
				"request":       w.request,
				"refuse":        w.refuse,
				"step":          w.step,
				"lose":          w.loseCall,
				"die":           w.die,
				"expire a lock": w.expireLock,
				"complete":      w.complete,
				"release":       w.release,
				"expire":        w.expire,
				"purge":         w.purge,
			})
		})
	}
}

// use is one use of a key, from its claim until its row is deleted or claimed anew, in the model or in the database.
type use struct {
	ID      uuid.UUID
	Key     string
	Content string
	Point   idempotency.Point
	Epoch   int
	Locked  bool
	Expired bool
	Answer  string
	// Effects are the points whose phase has had its effect.
	Effects string
}

func (u *use) finished() bool  { return u.Point == idempotency.PointFinished }
func (u *use) absent() bool    { return u.finished() && u.Expired }
func (u *use) abandoned() bool { return !u.finished() && !u.Locked }

// advance is what one phase does to the use.
func (u *use) advance() {
	u.Effects += string(u.Point)
	u.Point = path()[slices.Index(path(), u.Point)+1]
	u.Locked = !u.finished()
	if u.finished() {
		u.Answer, u.Expired = answerOf(u.ID, u.Epoch), false
	}
}

// The keys of the model. A released key without a subject is deleted.
const (
	keyWithSubject    = "with-subject"
	keyWithoutSubject = "without-subject"
)

// path is every recovery point in its order.
func path() []idempotency.Point {
	return []idempotency.Point{pointBegun, pointCalled, pointNoted, idempotency.PointFinished}
}

func answerOf(id uuid.UUID, epoch int) string {
	return fmt.Sprintf("%s, answered under epoch %d", id, epoch)
}

// world is the database, the requests that are under way, and the model.
type world struct {
	db     *db.DB
	org    uuid.UUID
	engine *idempotency.Engine
	flow   idempotency.Flow

	// model is each key's use; seen is how every use was last found in the database.
	model map[string]use
	seen  map[uuid.UUID]use
	// released is the use that was released last. It may be gone.
	released uuid.UUID
	// holders are the requests that stand in a phase; requests waits for all that were ever sent.
	holders  []*holder
	requests sync.WaitGroup
	// latest is the epoch of each use's latest holder.
	latest map[uuid.UUID]int
	// failing is the point at which the completer fails.
	failing idempotency.Point
}

func newWorld(t *rapid.T, database *db.DB) *world {
	w := &world{
		db: database, org: uuid.New(), model: make(map[string]use), seen: make(map[uuid.UUID]use),
		latest: make(map[uuid.UUID]int),
	}
	w.exec(t, `DELETE FROM idempotency_keys`)
	w.exec(t, `DELETE FROM effects`)
	// The lock outlasts the test. It ends when the model says so.
	w.engine = idempotency.NewEngine(database, idempotency.EngineConfig{Lock: longLock}, metrics.New("").Keys,
		slog.New(slog.DiscardHandler))
	w.flow = idempotency.Flow{Endpoint: endpoint, Phases: map[idempotency.Point]idempotency.Phase{
		pointBegun: w.phase, pointCalled: w.phase, pointNoted: w.phase,
	}}
	return w
}

// request sends a request: the first of its key, a retry, or a different one under the same key.
func (w *world) request(t *rapid.T) {
	key := rapid.SampledFrom([]string{keyWithoutSubject, keyWithSubject}).Draw(t, "key")
	claim := newClaim(w.org, key, rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "content"))
	claim.Response, claim.Point, claim.Lock = idempotency.Response{}, pointBegun, w.engine.Lock()
	if key == keyWithSubject {
		claim.Subject = uuid.New()
	}
	h := &holder{
		stops: make(chan idempotency.Record), goOn: make(chan error), ended: make(chan ending, 1),
	}
	late := rapid.Bool().Draw(t, "late")
	w.requests.Go(func() {
		record, err := w.send(context.WithValue(t.Context(), holderKey{}, h), claim, late)
		h.ended <- ending{record, err}
	})
	known, ok := w.model[key]
	switch content := strings.TrimPrefix(claim.Caller.RequestID, "request-"); {
	case !ok || known.absent():
		known = use{ID: claim.ID, Key: key, Content: content, Point: pointBegun, Epoch: 1, Locked: true}
		w.expectHolder(t, h, known)
	case known.Content != content:
		h.wantEnd(t, "", api.CodeKeyReused)
	case known.finished():
		h.wantEnd(t, known.Answer, "")
	case known.Locked:
		h.wantEnd(t, "", api.CodeKeyInProgress)
	default:
		known.Epoch++
		known.Locked = true
		w.expectHolder(t, h, known)
	}
}

// refuse claims a key for a request that loses its grant behind that, as one does whose quota is used up.
func (w *world) refuse(t *rapid.T) {
	key := rapid.SampledFrom([]string{keyWithoutSubject, keyWithSubject}).Draw(t, "key")
	claims := []idempotency.Claim{newStart(w.org, key, "a")}
	_, err := db.InBatch(t.Context(), w.db, func(batch *db.Batch) struct{} {
		idempotency.QueueClaims(batch, claims, nil)
		db.Grant(batch, []uuid.UUID{})
		idempotency.QueueWithdrawals(batch, claims)
		return struct{}{}
	})
	if err != nil {
		t.Fatal(err)
	}
	if known := w.model[key]; known.absent() {
		delete(w.model, key)
	}
}

// expectHolder waits for the request to stand in its first phase, as the holder of the use.
func (w *world) expectHolder(t *rapid.T, h *holder, locked use) {
	select {
	case end := <-h.ended:
		t.Fatalf("request ends at %q, %v, want it to hold the key", end.record.Point, end.err)
	case record := <-h.stops:
		if record.ID != locked.ID || record.Epoch != locked.Epoch {
			t.Fatalf("holder of %s under %d, want %s under %d", record.ID, record.Epoch, locked.ID, locked.Epoch)
		}
	}
	h.use, h.epoch = locked.ID, locked.Epoch
	if before := w.latest[h.use]; h.epoch <= before {
		t.Fatalf("epoch of a new holder = %d, want more than %d", h.epoch, before)
	}
	w.latest[h.use] = h.epoch
	w.holders = append(w.holders, h)
	w.model[locked.Key] = locked
}

// step lets a holder commit its phase, also long after its lock was lost.
func (w *world) step(t *rapid.T) {
	h := w.drawHolder(t)
	locked, current := w.lockedBy(h)
	h.goOn <- nil
	if !current {
		w.remove(h)
		w.wantStale(t, h)
		return
	}
	locked.advance()
	w.model[locked.Key] = locked
	if locked.finished() {
		w.remove(h)
		h.wantEnd(t, locked.Answer, "")
		return
	}
	if record := <-h.stops; record.Point != locked.Point {
		t.Fatalf("holder goes on from %s, want %s", record.Point, locked.Point)
	}
}

// wantStale waits for the end of a holder whose key was taken over: it answers with the response of its successor, or
// asks for the request to be sent again.
func (w *world) wantStale(t *rapid.T, h *holder) {
	for _, now := range w.model {
		if now.ID == h.use && now.finished() && !now.Expired {
			h.wantEnd(t, now.Answer, "")
			return
		}
	}
	h.wantEnd(t, "", api.CodeUnavailable)
}

// loseCall loses the answer of the foreign call on its way to a holder, which then gives up.
func (w *world) loseCall(t *rapid.T) {
	h := w.drawHolder(t)
	w.remove(h)
	h.goOn <- errForeign
	h.wantEnd(t, "", api.CodeUnavailable)
	if locked, current := w.lockedBy(h); current {
		locked.Locked = false
		w.model[locked.Key] = locked
	}
}

// die ends a holder's process: it writes nothing any more, and its lock stays until it expires.
func (w *world) die(t *rapid.T) {
	w.remove(w.drawHolder(t))
}

// expireLock ends the lock of a holder, as time would.
func (w *world) expireLock(t *rapid.T) {
	u := w.drawUse(t, func(u use) bool { return u.Locked })
	w.exec(t, `UPDATE idempotency_keys SET locked_until = now() WHERE id = $1`, u.ID)
	u.Locked = false
	w.model[u.Key] = u
}

// complete runs the completer, which may fail at one of the points.
func (w *world) complete(t *rapid.T) {
	w.failing = rapid.SampledFrom(path()).Draw(t, "failing")
	w.exec(t, `UPDATE idempotency_keys SET retry_at = NULL`)
	want := 0
	for key, u := range w.model {
		if !u.abandoned() {
			continue
		}
		want++
		u.Epoch++
		for !u.finished() && u.Point != w.failing {
			u.advance()
		}
		u.Locked = false
		w.model[key] = u
	}
	if n, err := idempotency.NewCompleter(w.engine, manyTries, w.flow).RunOnce(t.Context()); n != want || err != nil {
		t.Fatalf("completer = %d, %v, want %d", n, err, want)
	}
}

// release lets an administrator free a key. A use without a subject ends; otherwise the completer goes on.
func (w *world) release(t *rapid.T) {
	u := w.drawUse(t, func(use) bool { return true })
	err := db.Do(t.Context(), w.db, func(tx db.Tx) error {
		return idempotency.Release(t.Context(), tx, w.org, u.ID)
	})
	switch {
	case !u.abandoned():
		if core.AsError(err).Code != api.CodeKeyNotReleasable {
			t.Fatalf("release = %v, want a refusal", err)
		}
	case err != nil:
		t.Fatalf("release: %v", err)
	case u.Key == keyWithoutSubject:
		w.released = u.ID
		delete(w.model, u.Key)
	}
}

// expire ends the lifetime of a key.
func (w *world) expire(t *rapid.T) {
	u := w.drawUse(t, func(u use) bool { return !u.Expired })
	w.exec(t, `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now() WHERE id = $1`,
		u.ID)
	u.Expired = true
	w.model[u.Key] = u
}

// purge runs the purge.
func (w *world) purge(t *rapid.T) {
	want := int64(0)
	for key, u := range w.model {
		if u.absent() {
			want++
			delete(w.model, key)
		}
	}
	if n, err := idempotency.Purge(t.Context(), w.db, 1); n != want || err != nil {
		t.Fatalf("purge = %d, %v, want %d", n, err, want)
	}
}

// lockedBy returns the use that the holder drives, unless it was taken over.
func (w *world) lockedBy(h *holder) (use, bool) {
	for _, u := range w.model {
		if u.ID == h.use && u.Epoch == h.epoch && !u.finished() {
			return u, true
		}
	}
	return use{}, false
}

func (w *world) drawHolder(t *rapid.T) *holder {
	if len(w.holders) == 0 {
		t.Skip("no request drives a key")
	}
	return w.holders[rapid.IntRange(0, len(w.holders)-1).Draw(t, "holder")]
}

func (w *world) drawUse(t *rapid.T, eligible func(use) bool) use {
	var keys []string
	for key, u := range w.model {
		if eligible(u) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		t.Skip("no key matches")
	}
	slices.Sort(keys)
	return w.model[rapid.SampledFrom(keys).Draw(t, "key")]
}

// remove forgets a holder that has ended, or never goes on.
func (w *world) remove(h *holder) {
	w.holders = slices.DeleteFunc(w.holders, func(other *holder) bool { return other == h })
}

func (w *world) exec(t *rapid.T, query string, args ...any) {
	if _, err := w.db.Pool.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
