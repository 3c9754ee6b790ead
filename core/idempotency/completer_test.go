package idempotency_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// manyTries is more attempts than any test needs.
const manyTries = 1000

func (r *rig) completer(maxAttempts int) *idempotency.Completer {
	return idempotency.NewCompleter(r.engine, maxAttempts, r.flow)
}

// abandon claims keys whose locks have expired, the first one earliest.
func (r *rig) abandon(t *testing.T, keys ...string) {
	t.Helper()
	for i, key := range keys {
		r.begin(t, key)
		r.exec(t, `UPDATE idempotency_keys SET locked_until = now() - interval '1 hour' + $2 * interval '1 second'
			WHERE key = $1`, key, i)
	}
}

func complete(t *testing.T, completer *idempotency.Completer, want int) {
	t.Helper()
	if n, err := completer.RunOnce(t.Context()); n != want || err != nil {
		t.Errorf("completer = %d, %v, want %d", n, err, want)
	}
}

// due ends the back-off of every key, as time does.
func (r *rig) due(t *testing.T) {
	t.Helper()
	r.exec(t, `UPDATE idempotency_keys SET retry_at = now() WHERE retry_at IS NOT NULL`)
}

// tries is how often the completer has tried a key, and how many seconds it waits before the next try.
type tries struct {
	Attempts  int
	Wait      float64
	LastError string
}

func (r *rig) tries(t *testing.T, key string) tries {
	t.Helper()
	rows, err := r.db.Pool.Query(t.Context(), `
		SELECT attempts, coalesce(extract(epoch FROM retry_at - now()), 0)::float8, last_error
		FROM idempotency_keys WHERE key = $1`, key)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[tries])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unfinished lists the keys that are not finished.
func (r *rig) unfinished(t *testing.T, condition string) []string {
	t.Helper()
	rows, err := r.db.Pool.Query(t.Context(), `SELECT key FROM idempotency_keys
		WHERE recovery_point <> 'finished' AND `+condition+` ORDER BY key`)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestCompleterFinishes(t *testing.T) {
	t.Parallel()

	t.Run("KeysAbandonedAtAnyPoint", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		for _, point := range []idempotency.Point{pointBegun, pointCalled, pointNoted} {
			key := string(point)
			r.failAt(point)
			_, err := r.engine.Drive(t.Context(), r.flow, r.begin(t, key))
			wantResumable(t, err)
		}
		r.recover()
		complete(t, r.completer(1), 3)
		for _, key := range []string{"begun", "called", "noted"} {
			r.wantFinished(t, key, 2)
		}
		complete(t, r.completer(1), 0)
	})

	t.Run("KeysThatHaveExpiredMeanwhile", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.abandon(t, "k")
		expire(t, r.db, "k")
		if record := r.lookup(t, "k"); !record.Expired || record.Absent() {
			t.Errorf("record = %+v, want it expired and still there", record)
		}
		if n, err := idempotency.Purge(t.Context(), r.db, 10); n != 0 || err != nil {
			t.Errorf("purged = %d, %v, want none", n, err)
		}
		complete(t, r.completer(1), 1)
		if left := r.unfinished(t, "true"); len(left) != 0 {
			t.Errorf("unfinished = %v, want none", left)
		}
	})

	t.Run("NoKeyThatIsLockedOrFinished", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		mustClaim(t, r.db, newClaim(r.org, "finished", "a"))
		held := r.begin(t, "held")
		complete(t, r.completer(1), 0)
		if now := r.lookup(t, "held"); now.Epoch != held.Epoch || now.LockTTL <= 0 {
			t.Errorf("record = %+v, want it as it was", now)
		}
	})

	t.Run("EachKeyOnceHoweverManyThereAre", func(t *testing.T) {
		t.Parallel()
		const keys, completers = 20, 4
		r := newRig(t, longLock)
		for i := range keys {
			r.abandon(t, fmt.Sprintf("k%d", i))
		}
		var all sync.WaitGroup
		var taken atomic.Int64
		for range completers {
			completer := r.completer(1)
			all.Go(func() {
				for {
					n, err := completer.RunOnce(t.Context())
					if err != nil {
						t.Errorf("complete: %v", err)
					}
					taken.Add(int64(n))
					if n == 0 {
						return
					}
				}
			})
		}
		all.Wait()
		if taken.Load() != keys {
			t.Errorf("taken = %d, want %d", taken.Load(), keys)
		}
		for i := range keys {
			r.wantFinished(t, fmt.Sprintf("k%d", i), 2)
		}
	})
}

func TestCompleterGivesUpSlowly(t *testing.T) {
	t.Parallel()

	t.Run("WaitingLongerEachTime", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.abandon(t, "k")
		r.failAt(pointBegun)
		completer := r.completer(manyTries)
		for attempt, wait := range []float64{2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600} {
			complete(t, completer, 1)
			got := r.tries(t, "k")
			if got.Attempts != attempt+1 || got.Wait > wait || got.Wait < wait-2 || got.LastError == "" {
				t.Errorf("after %d tries: %+v, want a wait of %g s and the last error", attempt+1, got, wait)
			}
			complete(t, completer, 0)
			r.due(t)
		}
		r.recover()
		complete(t, completer, 1)
		r.wantFinished(t, "k", 13)
	})

	t.Run("WithoutAnOverflowAfterThousandsOfTries", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.abandon(t, "k")
		r.failAt(pointBegun)
		r.exec(t, `UPDATE idempotency_keys SET attempts = 5000`)
		complete(t, r.completer(10_000), 1)
		if got := r.tries(t, "k"); got.Attempts != 5001 || got.Wait > 600 {
			t.Errorf("tries = %+v, want 5001 and a wait of 600 s", got)
		}
	})

	t.Run("MakingTheKeyADeadLetterInTheEnd", func(t *testing.T) {
		t.Parallel()
		const allowed = 3
		r := newRig(t, longLock)
		r.abandon(t, "dead")
		r.failAt(pointCalled)
		completer := r.completer(allowed)
		for range allowed {
			complete(t, completer, 1)
			r.due(t)
		}
		complete(t, completer, 0)
		if dead := r.unfinished(t, `attempts >= 3 AND locked_until <= now()`); !slices.Equal(dead, []string{"dead"}) {
			t.Errorf("dead letters = %v, want dead", dead)
		}
		want := core.Storable(errForeign.Error())
		if got := r.tries(t, "dead").LastError; !strings.Contains(got, want) {
			t.Errorf("last error = %q, want %q in it", got, want)
		}
		r.recover()
		if _, err := r.resume(t, "dead"); err != nil {
			t.Errorf("resume by the client: %v", err)
		}
		r.wantFinished(t, "dead", allowed+2)
	})

	t.Run("UntilTheKeyIsReleased", func(t *testing.T) {
		t.Parallel()
		const allowed = 3
		r := newRig(t, longLock)
		r.abandon(t, "dead")
		r.exec(t, `UPDATE idempotency_keys SET validation_run_id = gen_random_uuid(), attempts = $1,
			retry_at = now() + interval '10 minutes'`, allowed)
		complete(t, r.completer(allowed), 0)
		err := db.Do(t.Context(), r.db, func(tx db.Tx) error {
			return idempotency.Release(t.Context(), tx, r.org, r.lookup(t, "dead").ID)
		})
		if err != nil {
			t.Fatal(err)
		}
		complete(t, r.completer(allowed), 1)
		r.wantFinished(t, "dead", 2)
	})

	t.Run("AtUnknownPointsAndEndpoints", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.abandon(t, "newer", "foreign")
		r.exec(t, `UPDATE idempotency_keys SET recovery_point = 'later' WHERE key = 'newer'`)
		r.exec(t, `UPDATE idempotency_keys SET endpoint = 'other' WHERE key = 'foreign'`)
		complete(t, r.completer(2), 2)
		if left := r.unfinished(t, `locked_until <= now() AND recovery_point IN ('later', 'begun')`); len(left) != 2 {
			t.Errorf("keys left as they were = %v, want both", left)
		}
	})

	t.Run("WhenAPhasePanics", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.abandon(t, "broken", "good")
		r.onPhase(func(_ context.Context, record idempotency.Record) error {
			if record.Key == "broken" {
				panic("a phase is broken")
			}
			return nil
		})
		complete(t, r.completer(1), 2)
		r.wantFinished(t, "good", 2)
		if left := r.lookup(t, "broken"); !left.Abandoned() {
			t.Errorf("record = %+v, want it abandoned", left)
		}
	})

	t.Run("WhenItsProcessEnds", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, longLock)
		r.abandon(t, "k")
		ctx, stop := context.WithCancel(t.Context())
		r.onPhase(func(ctx context.Context, _ idempotency.Record) error {
			stop()
			return ctx.Err()
		})
		if _, err := r.completer(2).RunOnce(ctx); err != nil {
			t.Errorf("complete: %v", err)
		}
		if left := r.lookup(t, "k"); !left.Abandoned() {
			t.Errorf("record = %+v, want its lock given back", left)
		}
	})
}

// An administrator who releases a key just as the completer takes it over is refused: the key is in work.
func TestReleaseBesideTheCompleter(t *testing.T) {
	t.Parallel()
	r := newRig(t, longLock)
	r.abandon(t, "k")
	key := r.lookup(t, "k")
	released := make(chan error, 1)
	err := db.Do(t.Context(), r.db, func(tx db.Tx) error {
		if _, err := tx.Exec(t.Context(), `UPDATE idempotency_keys SET epoch = epoch + 1,
			locked_until = now() + interval '1 hour' WHERE id = $1`, key.ID); err != nil {
			return err
		}
		go func() {
			released <- db.Do(t.Context(), r.db, func(tx db.Tx) error {
				return idempotency.Release(t.Context(), tx, r.org, key.ID)
			})
		}()
		coretest.Eventually(t, func() bool {
			return coretest.One[int](t, r.db, `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND datname = current_database()`) > 0
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkCode(t, <-released, api.CodeKeyNotReleasable)
	if now := r.lookup(t, "k"); now.Epoch != key.Epoch+1 || now.LockTTL <= 0 {
		t.Errorf("record = %+v, want it held by the completer", now)
	}
}

func TestCompleterIsFair(t *testing.T) {
	t.Parallel()
	const poisoned = 100
	r := newRig(t, longLock)
	keys := make([]string, 0, poisoned+1)
	for i := range poisoned {
		keys = append(keys, fmt.Sprintf("poison%d", i))
	}
	r.abandon(t, append(keys, "good")...)
	r.onPhase(func(_ context.Context, record idempotency.Record) error {
		if strings.HasPrefix(record.Key, "poison") {
			return core.Unavailable(errForeign)
		}
		return nil
	})
	completer := r.completer(manyTries)
	for total := 0; total < poisoned+1; {
		n, err := completer.RunOnce(t.Context())
		if err != nil || n == 0 {
			t.Fatalf("completer = %d after %d keys, %v, want it to go through all", n, total, err)
		}
		total += n
		// However long the other keys take on a busy machine, none of these is due again before they were tried.
		r.exec(t, `UPDATE idempotency_keys SET retry_at = now() + interval '1 hour' WHERE retry_at IS NOT NULL`)
	}
	r.wantFinished(t, "good", 2)
	if left := r.unfinished(t, `attempts = 1`); len(left) != poisoned {
		t.Errorf("keys tried once = %d, want each of the %d", len(left), poisoned)
	}

	// A hundred keys are due again, and one that was abandoned just now comes before them.
	r.due(t)
	r.begin(t, "late")
	r.expireLock(t, "late")
	if _, err := completer.RunOnce(t.Context()); err != nil {
		t.Fatalf("complete: %v", err)
	}
	r.wantFinished(t, "late", 2)
}
