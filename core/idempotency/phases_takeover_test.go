package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// driveStale drives a request whose key is taken over meanwhile. It is told to come again.
func (r *rig) driveStale(t *testing.T, locked idempotency.Record) *sync.WaitGroup {
	t.Helper()
	var stale sync.WaitGroup
	stale.Go(func() {
		_, err := r.engine.Drive(t.Context(), r.flow, locked)
		wantResumable(t, err)
	})
	return &stale
}

func TestEngineTakesOver(t *testing.T) {
	t.Parallel()

	t.Run("NotWhileTheKeyIsHeld", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		blocked, release := r.blockAt(t, pointBegun)
		locked := r.begin(t, "k")
		var holder sync.WaitGroup
		holder.Go(func() {
			if _, err := r.engine.Drive(t.Context(), r.flow, locked); err != nil {
				t.Errorf("drive: %v", err)
			}
		})
		<-blocked
		_, err := r.resume(t, "k")
		checkCode(t, err, api.CodeKeyInProgress)
		if rest := core.AsError(err).RetryAfter; rest < longLock-time.Minute {
			t.Errorf("Retry-After = %s, want the rest of the lock", rest)
		}
		release()
		holder.Wait()
		r.wantFinished(t, "k", 1)
	})

	t.Run("NotWhileAnAnswerIsBeingStored", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		flow := idempotency.Flow{Endpoint: endpoint, Phases: maps.Clone(r.flow.Phases)}
		flow.Phases[pointNoted] = func(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
			if _, err := r.db.Pool.Exec(ctx, `UPDATE idempotency_keys SET locked_until = now()`); err != nil {
				return nil, err
			}
			store, err := r.flow.Phases[pointNoted](ctx, record)
			return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
				if n, err := r.completer(1).RunOnce(ctx); n != 0 || err != nil {
					t.Errorf("completer = %d, %v, want it to leave the key alone", n, err)
				}
				return store(ctx, tx)
			}, err
		}
		if _, err := r.engine.Drive(t.Context(), flow, r.begin(t, "k")); err != nil {
			t.Errorf("drive: %v", err)
		}
		r.wantFinished(t, "k", 1)
	})

	for name, change := range map[string]string{
		"NotByARecordOfAnEarlierPoint": `UPDATE idempotency_keys SET recovery_point = 'called', locked_until = now()`,
		"NotByARecordOfAnEarlierEpoch": `UPDATE idempotency_keys SET epoch = epoch + 1, locked_until = now()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, longLock)
			stale := r.begin(t, "k")
			r.exec(t, change)
			_, err := r.engine.Resume(t.Context(), r.flow, stale)
			checkCode(t, err, api.CodeKeyInProgress)
			if now := r.lookup(t, "k"); !now.Abandoned() {
				t.Errorf("record = %+v, want it left to who looks at it again", now)
			}
			r.wantCalls(t, stale, 0)
		})
	}

	t.Run("AndTheStaleHolderAnswersWithWhatItsSuccessorStored", func(t *testing.T) {
		t.Parallel()
		for _, point := range []idempotency.Point{pointBegun, pointCalled, pointNoted} {
			r := newRig(t, longLock)
			blocked, release := r.blockAt(t, point)
			locked := r.begin(t, "k")
			var stale sync.WaitGroup
			stale.Go(func() {
				got, err := r.engine.Drive(t.Context(), r.flow, locked)
				if diff := cmp.Diff(wantResponse(), got.Response); err != nil || diff != "" {
					t.Errorf("stale holder at %s: %v, response (-want +got):\n%s", point, err, diff)
				}
			})
			<-blocked
			r.expireLock(t, "k")
			if _, err := r.resume(t, "k"); err != nil {
				t.Errorf("resume: %v", err)
			}
			release()
			stale.Wait()
			r.wantFinished(t, "k", 2)
		}
	})

	t.Run("AndTheStaleHolderSaysUnavailableWhileItsSuccessorWorks", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		staleBlocked, staleRelease := r.blockAt(t, pointCalled)
		locked := r.begin(t, "k")
		var successor sync.WaitGroup
		stale := r.driveStale(t, locked)
		<-staleBlocked
		r.expireLock(t, "k")
		blocked, release := r.blockAt(t, pointCalled)
		left := r.lookup(t, "k")
		successor.Go(func() {
			if _, err := r.engine.Resume(t.Context(), r.flow, left); err != nil {
				t.Errorf("resume: %v", err)
			}
		})
		<-blocked
		staleRelease()
		stale.Wait()
		if now := r.lookup(t, "k"); now.Point != pointCalled || now.Epoch != 2 || now.LockTTL <= 0 {
			t.Errorf("record = %+v, want it held by the successor", now)
		}
		release()
		successor.Wait()
		r.wantFinished(t, "k", 2)
	})

	t.Run("AndTheStaleHolderIsSilentAboutALaterUse", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		blocked, release := r.blockAt(t, pointCalled)
		locked := r.begin(t, "k")
		stale := r.driveStale(t, locked)
		<-blocked
		r.expireLock(t, "k")
		if _, err := r.resume(t, "k"); err != nil {
			t.Errorf("resume: %v", err)
		}
		expire(t, r.db, "k")
		mustClaim(t, r.db, newClaim(r.org, "k", "another"))
		release()
		stale.Wait()
	})

	t.Run("AndTheStaleHolderDoesNotUnlockWhenItsPhaseFails", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		locked := r.begin(t, "k")
		r.onPhase(func(ctx context.Context, _ idempotency.Record) error {
			_, err := r.db.Pool.Exec(ctx, `UPDATE idempotency_keys SET epoch = epoch + 1,
				locked_until = now() + interval '1 hour'`)
			return errors.Join(errForeign, err)
		})
		_, err := r.engine.Drive(t.Context(), r.flow, locked)
		wantResumable(t, err)
		if now := r.lookup(t, "k"); now.LockTTL <= 0 || r.tries(t, "k").LastError != "" {
			t.Errorf("record = %+v, want its holder's lock left alone", now)
		}
	})

	t.Run("AndTheStaleHoldersPhaseIsStopped", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, shortLock)
		locked := r.begin(t, "k")
		r.onPhase(func(ctx context.Context, _ idempotency.Record) error {
			//nolint:contextcheck // the statement is another process's, which has its own context
			r.exec(t, `UPDATE idempotency_keys SET epoch = epoch + 1, locked_until = now() + interval '1 hour'`)
			<-ctx.Done()
			return ctx.Err()
		})
		_, err := r.engine.Drive(t.Context(), r.flow, locked)
		wantResumable(t, err)
		if now := r.lookup(t, "k"); now.LockTTL <= 0 {
			t.Errorf("record = %+v, want its holder's lock left alone", now)
		}
	})

	t.Run("AndTheStaleHoldersPhaseIsStoppedAlsoWhenItsSuccessorHasFinished", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, shortLock)
		locked := r.begin(t, "k")
		r.onPhase(func(ctx context.Context, record idempotency.Record) error {
			if record.Epoch > locked.Epoch {
				return nil
			}
			r.expireLock(t, "k")                        //nolint:contextcheck // as above
			if _, err := r.resume(t, "k"); err != nil { //nolint:contextcheck // as above
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
		got, err := r.engine.Drive(t.Context(), r.flow, locked)
		if diff := cmp.Diff(wantResponse(), got.Response); err != nil || diff != "" {
			t.Errorf("stale holder: %v, response (-want +got):\n%s", err, diff)
		}
	})
}

func TestEngineKeepsASlowPhasesKey(t *testing.T) {
	t.Parallel()
	// It is renewed three times as often as it has to be, and a busy machine may be late by less than this.
	const lock = 15 * time.Second
	r := newRig(t, lock)
	blocked, release := r.blockAt(t, pointBegun)
	locked := r.begin(t, "k")
	var slow sync.WaitGroup
	slow.Go(func() {
		if _, err := r.engine.Drive(t.Context(), r.flow, locked); err != nil {
			t.Errorf("drive: %v", err)
		}
	})
	<-blocked
	completer := idempotency.NewCompleter(r.engine, 1, r.flow)
	until := func() time.Time {
		return coretest.One[time.Time](t, r.db, `SELECT locked_until FROM idempotency_keys`)
	}
	first := until()
	coretest.Eventually(t, func() bool { return until().After(first) })
	// It is as late as the first lock would have ended.
	r.exec(t, `UPDATE idempotency_keys SET locked_until = locked_until - ($1::timestamptz - now())`, first)
	if n, err := completer.RunOnce(t.Context()); n != 0 || err != nil {
		t.Errorf("completer = %d, %v, want it to leave the key alone", n, err)
	}
	release()
	slow.Wait()
	r.wantFinished(t, "k", 1)
	r.wantCalls(t, locked, 1)
}

func TestEngineRace(t *testing.T) {
	t.Parallel()
	const rivals = 24
	r := newRig(t, longLock)
	for round := range 10 {
		key := fmt.Sprintf("k%d", round)
		r.begin(t, key)
		r.expireLock(t, key)
		left := r.lookup(t, key)
		completer := idempotency.NewCompleter(r.engine, 1, r.flow)
		var (
			race sync.WaitGroup
			mu   sync.Mutex
			won  int
		)
		win := func(n int) { mu.Lock(); won += n; mu.Unlock() }
		race.Go(func() {
			n, err := completer.RunOnce(t.Context())
			if err != nil {
				t.Errorf("complete: %v", err)
			}
			win(n)
		})
		for range rivals {
			race.Go(func() {
				_, err := r.engine.Resume(t.Context(), r.flow, left)
				if err == nil {
					win(1)
					return
				}
				checkCode(t, err, api.CodeKeyInProgress)
			})
		}
		race.Wait()
		if won != 1 {
			t.Errorf("winners = %d, want 1", won)
		}
		r.wantFinished(t, key, 2)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) != 10 {
		t.Errorf("foreign calls = %d, want 10", len(r.calls))
	}
}
