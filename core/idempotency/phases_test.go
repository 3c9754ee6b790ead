package idempotency_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func TestEngineDrives(t *testing.T) {
	t.Parallel()

	t.Run("ThroughAllPhases", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		locked := r.begin(t, "k")
		got, err := r.engine.Drive(t.Context(), r.flow, locked)
		if err != nil {
			t.Fatalf("drive: %v", err)
		}
		want := locked
		want.Point, want.Response = idempotency.PointFinished, wantResponse()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		r.wantFinished(t, "k", 1)
		r.wantCalls(t, locked, 1)
	})

	t.Run("ToAnEmptyBody", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.flow.Phases[pointBegun] = r.phase(idempotency.Respond(idempotency.Response{Status: http.StatusNoContent}))
		if _, err := r.engine.Drive(t.Context(), r.flow, r.begin(t, "k")); err != nil {
			t.Fatalf("drive: %v", err)
		}
		if got := r.lookup(t, "k"); !got.Finished() || len(got.Response.Body) != 0 {
			t.Errorf("record = %+v, want finished with no body", got)
		}
	})

	t.Run("OnceEvenIfAStaleRecordIsResumed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		locked := r.begin(t, "k")
		if _, err := r.engine.Drive(t.Context(), r.flow, locked); err != nil {
			t.Fatalf("drive: %v", err)
		}
		// A resumption from a record that was read before the end has no effect.
		_, err := r.engine.Resume(t.Context(), r.flow, locked)
		checkCode(t, err, api.CodeKeyInProgress)
		r.wantFinished(t, "k", 1)
	})
}

func TestEngineStops(t *testing.T) {
	t.Parallel()

	before := map[idempotency.Point]string{pointBegun: "", pointCalled: "begun", pointNoted: "begun called"}
	for point, effects := range before {
		t.Run("AtThePointWhosePhaseFails:"+string(point), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, longLock)
			locked := r.begin(t, "k")
			r.failAt(point)
			_, err := r.engine.Drive(t.Context(), r.flow, locked)
			wantResumable(t, err)
			if !errors.Is(err, errForeign) {
				t.Errorf("error = %v, want its cause in it", err)
			}
			if left := r.lookup(t, "k"); left.Point != point || !left.Abandoned() || left.Epoch != 1 {
				t.Errorf("record = %+v, want it abandoned at %s", left, point)
			}
			r.wantEffects(t, locked.ID, effects)
			r.recover()
			if _, err := r.resume(t, "k"); err != nil {
				t.Fatalf("resume: %v", err)
			}
			r.wantFinished(t, "k", 2)
		})
	}

	t.Run("WithTheErrorThatThePhaseHasForTheClient", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.onPhase(func(context.Context, idempotency.Record) error { return core.NotFound("thing") })
		_, err := r.engine.Drive(t.Context(), r.flow, r.begin(t, "k"))
		checkCode(t, err, api.CodeNotFound)
		if left := r.lookup(t, "k"); !left.Abandoned() {
			t.Errorf("record = %+v, want it abandoned", left)
		}
	})

	t.Run("WhenAPhasePanics", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.onPhase(func(context.Context, idempotency.Record) error { panic("a phase is broken") })
		_, err := r.engine.Drive(t.Context(), r.flow, r.begin(t, "k"))
		wantResumable(t, err)
		if left := r.lookup(t, "k"); !left.Abandoned() {
			t.Errorf("record = %+v, want it abandoned", left)
		}
	})

	// Otherwise the heartbeat could lock the key once more, behind the unlocking.
	t.Run("ItsHeartbeatBeforeItUnlocks", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		locked := r.begin(t, "k")
		driven := make(chan context.Context, 1)
		r.onPhase(func(ctx context.Context, _ idempotency.Record) error {
			driven <- ctx
			return errForeign
		})
		other, err := r.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(t.Context(), `SELECT FROM idempotency_keys FOR UPDATE`); err != nil {
			t.Fatal(err)
		}
		var driving sync.WaitGroup
		driving.Go(func() {
			_, err := r.engine.Drive(t.Context(), r.flow, locked)
			wantResumable(t, err)
		})
		coretest.Eventually(t, func() bool {
			return coretest.One[int](t, r.db, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
				AND datname = current_database() AND query LIKE '%last_error%'`) == 1
		})
		if ctx := <-driven; ctx.Err() == nil {
			t.Error("the key is unlocked while the heartbeat goes on")
		}
		if err := other.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		driving.Wait()
		if left := r.lookup(t, "k"); !left.Abandoned() {
			t.Errorf("record = %+v, want it abandoned", left)
		}
	})

	t.Run("WhenItsRequestEnds", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		locked := r.begin(t, "k")
		ctx, hangUp := context.WithCancel(t.Context())
		r.onPhase(func(ctx context.Context, record idempotency.Record) error {
			if record.Point == pointCalled {
				hangUp()
				return ctx.Err()
			}
			return nil
		})
		_, err := r.engine.Drive(ctx, r.flow, locked)
		wantResumable(t, err)
		r.recover()
		if _, err := r.resume(t, "k"); err != nil {
			t.Fatalf("resume: %v", err)
		}
		r.wantFinished(t, "k", 2)
		r.wantCalls(t, locked, 1)
	})

	t.Run("WithoutEffectsWhenATransitionFails", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		locked := r.begin(t, "k")
		r.exec(t, `ALTER TABLE effects ADD CONSTRAINT ck_effects_point CHECK (point <> 'called')`)
		_, err := r.engine.Drive(t.Context(), r.flow, locked)
		wantResumable(t, err)
		if left := r.lookup(t, "k"); left.Point != pointCalled || !left.Abandoned() {
			t.Errorf("record = %+v, want it abandoned at called", left)
		}
		r.exec(t, `ALTER TABLE effects DROP CONSTRAINT ck_effects_point`)
		if _, err := r.resume(t, "k"); err != nil {
			t.Fatalf("resume: %v", err)
		}
		r.wantFinished(t, "k", 2)
	})

	for name, outcome := range map[string]idempotency.Outcome{
		"TheSamePoint": idempotency.Reach(pointCalled), "NoPoint": {},
	} {
		t.Run("WithoutEffectsWhereAPhaseReaches"+name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, longLock)
			locked := r.begin(t, "k")
			r.flow.Phases[pointCalled] = r.phase(outcome)
			_, err := r.engine.Drive(t.Context(), r.flow, locked)
			wantResumable(t, err)
			if left := r.lookup(t, "k"); left.Point != pointCalled || !left.Abandoned() {
				t.Errorf("record = %+v, want it abandoned at called", left)
			}
			r.wantEffects(t, locked.ID, "begun")
		})
	}

	t.Run("AtAPointOfAnotherRelease", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		locked := r.begin(t, "k")
		newer := r.flow.Phases[pointNoted]
		delete(r.flow.Phases, pointNoted)
		_, err := r.engine.Drive(t.Context(), r.flow, locked)
		wantResumable(t, err)
		if left := r.lookup(t, "k"); left.Point != pointNoted || !left.Abandoned() {
			t.Errorf("record = %+v, want it left at noted", left)
		}
		r.flow.Phases[pointNoted] = newer
		if _, err := r.resume(t, "k"); err != nil {
			t.Fatalf("resume by the newer release: %v", err)
		}
		r.wantFinished(t, "k", 2)
	})
}

func TestDerivedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, longLock)
	locked := r.begin(t, "k")
	r.failAt(pointBegun)
	_, err := r.engine.Drive(t.Context(), r.flow, locked)
	wantResumable(t, err)
	for range 3 {
		_, err := r.resume(t, "k")
		wantResumable(t, err)
	}
	r.recover()
	if _, err := r.resume(t, "k"); err != nil {
		t.Fatalf("resume: %v", err)
	}
	r.wantCalls(t, locked, 5)
	if charge, refund := locked.DerivedKey("charge"), locked.DerivedKey("refund"); charge == refund {
		t.Errorf("keys of two purposes = %s, want two", charge)
	}
	expire(t, r.db, "k")
	if again := r.begin(t, "k"); again.DerivedKey("call") == locked.DerivedKey("call") {
		t.Errorf("key of another use = %s, want another", again.DerivedKey("call"))
	}
}
