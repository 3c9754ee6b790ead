package idempotency_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func TestEngineDrivesToAnEmptyBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, longLock)
	r.flow.Phases[pointBegun] = r.phase(idempotency.Respond(idempotency.Response{Status: http.StatusNoContent}))
	if _, err := r.engine.Drive(t.Context(), r.flow, r.begin(t, "k")); err != nil {
		t.Fatalf("drive: %v", err)
	}
	if got := r.lookup(t, "k"); !got.Finished() || len(got.Response.Body) != 0 {
		t.Errorf("record = %+v, want finished with no body", got)
	}
}

func TestEngineStops(t *testing.T) {
	t.Parallel()

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
