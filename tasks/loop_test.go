package tasks_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simplevalidations/simplevalidations/tasks"
)

// startLoop runs a loop in a bubble until the test ends, and wants it to return nil.
func startLoop(tb testing.TB, name string, interval time.Duration, runOnce func(context.Context) (int, error)) {
	tb.Helper()
	startWholeLoop(tb, tasks.Loop{Name: name, Interval: interval, RunOnce: runOnce})
}

func startWholeLoop(tb testing.TB, loop tasks.Loop) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	result := make(chan error, 1)
	go func() { result <- loop.Run(ctx, discard()) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-result; err != nil {
			tb.Errorf("the loop returned %v, want nil", err)
		}
	})
}

// passing lets time pass in a bubble and returns once everything in it is still.
func passing(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestLoopRunsAtOnceAndThenEveryInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		startLoop(t, "idle", time.Second, func(context.Context) (int, error) {
			runs.Add(1)
			return 0, nil
		})
		synctest.Wait()
		if got := runs.Load(); got != 1 {
			t.Errorf("runs = %d at the start, want 1", got)
		}
		passing(time.Minute)
		if got := runs.Load(); got < 54 || got > 68 {
			t.Errorf("runs = %d in a minute, want about 61", got)
		}
	})
}

func TestLoopGoesOnWhileThereIsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left, runs := 5, 0
		startLoop(t, "busy", time.Hour, func(context.Context) (int, error) {
			runs++
			if left == 0 {
				return 0, nil
			}
			left--
			return 1, nil
		})
		synctest.Wait()
		if runs != 6 {
			t.Errorf("runs = %d, want 6 without any time passing", runs)
		}
	})
}

func TestLoopRunsWhenWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake, runs := make(chan struct{}, 1), 0
		startWholeLoop(t, tasks.Loop{
			Name: "woken", Interval: time.Hour, Wake: wake,
			RunOnce: func(context.Context) (int, error) {
				runs++
				return 0, nil
			},
		})
		synctest.Wait()
		wake <- struct{}{}
		synctest.Wait()
		if runs != 2 {
			t.Errorf("runs = %d after a wake-up, want 2", runs)
		}
	})
}

func TestLoopPausesBetweenRunsThatDidNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// A wake-up at every moment, as from a process that stages jobs for which there is no room.
		wake := make(chan struct{})
		close(wake)
		var runs atomic.Int64
		startWholeLoop(t, tasks.Loop{
			Name: "hurried", Interval: time.Hour, Wake: wake, Pause: 10 * time.Millisecond,
			RunOnce: func(context.Context) (int, error) {
				runs.Add(1)
				return 0, nil
			},
		})
		passing(95 * time.Millisecond)
		if got := runs.Load(); got != 10 {
			t.Errorf("runs = %d within 95 ms, want 10", got)
		}
	})
}

func TestLoopPausesBetweenRunsThatDidSomething(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var jobs, runs atomic.Int64
		jobs.Store(1)
		wake := make(chan struct{}, 1)
		startWholeLoop(t, tasks.Loop{
			Name: "gathering", Interval: time.Hour, Wake: wake, Pause: 10 * time.Millisecond,
			RunOnce: func(context.Context) (int, error) {
				runs.Add(1)
				return int(jobs.Swap(0)), nil
			},
		})
		passing(5 * time.Millisecond)
		jobs.Store(3)
		wake <- struct{}{}
		synctest.Wait()
		if runs.Load() != 1 || jobs.Load() != 3 {
			t.Errorf("runs = %d with %d jobs left within the pause, want 1 with 3", runs.Load(), jobs.Load())
		}
		passing(5 * time.Millisecond)
		if runs.Load() != 2 || jobs.Load() != 0 {
			t.Errorf("runs = %d with %d jobs left after the pause, want 2 with none", runs.Load(), jobs.Load())
		}
	})
}

func TestLoopNeedsAnInterval(t *testing.T) {
	t.Parallel()
	loop := tasks.Loop{Name: "hot", RunOnce: func(context.Context) (int, error) { return 0, nil }}
	if err := loop.Run(t.Context(), discard()); err == nil {
		t.Error("a loop without an interval ran, want an error")
	}
}

func TestLoopAfterFailure(t *testing.T) {
	t.Parallel()
	failure := errors.New("no database")

	t.Run("BacksOffWithinBounds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			// A wake-up at every moment: failures must not be hurried by it.
			wake := make(chan struct{})
			close(wake)
			var pauses []time.Duration
			last := time.Now()
			startWholeLoop(t, tasks.Loop{
				Name: "failing", Interval: time.Millisecond, Wake: wake,
				RunOnce: func(context.Context) (int, error) {
					pauses = append(pauses, time.Since(last))
					last = time.Now()
					return 0, failure
				},
			})
			passing(10 * time.Minute)
			if pauses[1] < 100*time.Millisecond || pauses[1] > 200*time.Millisecond {
				t.Errorf("first pause = %s, want 0.1 s to 0.2 s", pauses[1])
			}
			for i, pause := range pauses[len(pauses)-5:] {
				if pause < 15*time.Second || pause > 30*time.Second {
					t.Errorf("late pause %d = %s, want 15 s to 30 s", i, pause)
				}
			}
		})
	})

	t.Run("ForgetsFailuresAfterAnIdleRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var begun []time.Time
			startLoop(t, "flapping", time.Second, func(context.Context) (int, error) {
				begun = append(begun, time.Now())
				if len(begun)%2 == 0 {
					return 0, nil
				}
				return 0, failure
			})
			passing(time.Minute)
			for i := 1; i < len(begun); i += 2 {
				if pause := begun[i].Sub(begun[i-1]); pause > 200*time.Millisecond {
					t.Errorf("pause after failure %d = %s, want 0.2 s at most: a good run lay before it", i, pause)
				}
			}
		})
	})

	t.Run("SurvivesAPanic", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			startLoop(t, "panicking", time.Second, func(context.Context) (int, error) {
				runs++
				if runs == 1 {
					panic("nil map")
				}
				return 0, nil
			})
			passing(10 * time.Second)
			if runs < 2 {
				t.Errorf("runs = %d, want more after the panic", runs)
			}
		})
	})

	t.Run("BoundsEachRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			startLoop(t, "stuck", time.Second, func(ctx context.Context) (int, error) {
				runs++
				if runs == 1 {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return 0, nil
			})
			passing(5 * time.Minute)
			if runs < 2 {
				t.Errorf("runs = %d, want the stuck one ended and others after it", runs)
			}
		})
	})
}
