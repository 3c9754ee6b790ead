package execution

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// begin takes turns for so many runs, which end theirs by themselves only when the test says so, and returns how many
// have begun.
func begin(ctx context.Context, p *startPriority, runs int) *atomic.Int64 {
	begun := new(atomic.Int64)
	for range runs {
		go func() {
			if _, err := p.admit(ctx); err == nil {
				begun.Add(1)
			}
		}()
	}
	synctest.Wait()
	return begun
}

func TestRunsOfTheQueueBeginTogetherWhenNoStartComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newStartPriority()
		if begun := begin(t.Context(), p, 100); begun.Load() != 100 {
			t.Errorf("%d of 100 runs began before any start came, want all", begun.Load())
		}
		p.starting()
		time.Sleep(quietAfter)
		if begun := begin(t.Context(), p, 100); begun.Load() != 100 {
			t.Errorf("%d of 100 runs began %s after the last start, want all", begun.Load(), quietAfter)
		}
	})
}

func TestStartsGoBeforeRunsOfTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newStartPriority()
		p.starting()
		begun := begin(t.Context(), p, 100)
		if begun.Load() != int64(cap(p.admitted)) {
			t.Errorf("%d of 100 runs began while starts came, want %d", begun.Load(), cap(p.admitted))
		}
		// Starts keep coming, and the first runs take long.
		for range 2 * longestWait / time.Millisecond {
			time.Sleep(time.Millisecond)
			p.starting()
		}
		synctest.Wait()
		if begun.Load() != int64(3*cap(p.admitted)) {
			t.Errorf("%d runs began within two turns beside starts, want %d", begun.Load(), 3*cap(p.admitted))
		}
		time.Sleep(quietAfter)
		synctest.Wait()
		if begun.Load() != 100 {
			t.Errorf("%d of 100 runs began when no start came any more, want all", begun.Load())
		}
	})
}

func TestTurnThatEndsGoesToTheNextRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newStartPriority()
		p.starting()
		var ends []func()
		for range cap(p.admitted) {
			end, err := p.admit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		begun := begin(t.Context(), p, 2)
		if begun.Load() != 0 {
			t.Fatalf("%d runs began while all turns were taken, want none", begun.Load())
		}
		ends[0]()
		ends[0]()
		synctest.Wait()
		if begun.Load() != 1 {
			t.Errorf("%d runs began after one turn had ended, want 1", begun.Load())
		}
		time.Sleep(quietAfter)
	})
}

func TestRunWaitsForItsTurnNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newStartPriority()
		p.starting()
		begin(t.Context(), p, cap(p.admitted))
		stopped := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stopped)
		if _, err := p.admit(ctx); !errors.Is(err, stopped) {
			t.Errorf("waiting with an ended context fails with %v, want %v", err, stopped)
		}
	})
}
