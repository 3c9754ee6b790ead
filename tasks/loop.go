package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

const (
	// runLimit bounds one RunOnce, so that a stalled connection cannot stop a loop for ever.
	runLimit = time.Minute
	// firstPause is the wait after one failure; it doubles with every further one up to lastPause.
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
	// reportEvery bounds how often a busy loop says what it did.
	reportEvery = 10 * time.Second
)

// Loop repeats a piece of background work. Any number of processes may run the same loop.
type Loop struct {
	Name string
	// Interval is the time between two runs that find nothing to do. It varies by a tenth, so that
	// processes that were started together do not stay together.
	Interval time.Duration
	// Wake starts a run before the interval is over. It may be nil. It does not cut short the pause after a failure.
	Wake <-chan struct{}
	// Pause is the least time between two runs, so that what comes meanwhile is done in one run: a busy process wakes
	// the loop more often than it has something to do. It may be zero.
	Pause time.Duration
	// RunOnce does one batch and returns how much it did; zero says that nothing is left for now. It honors ctx.
	RunOnce func(ctx context.Context) (int, error)

	// passes records the state of the loop; nil where no heartbeat follows it.
	passes *passes
}

// Run runs the loop until ctx ends, and then returns nil. Neither an error nor a panic of RunOnce ends it.
func (l Loop) Run(ctx context.Context, log *slog.Logger) error {
	if l.Interval <= 0 {
		return fmt.Errorf("loop %s: its interval is %s, want more than zero", l.Name, l.Interval)
	}
	work := report{log: log.With("loop", l.Name)}
	failures := 0
	for ctx.Err() == nil {
		l.passes.begin()
		n, err := l.runOnce(ctx)
		work.add(ctx, n)
		if err == nil || n > 0 {
			failures = 0
		}
		if err != nil {
			failures++
		}
		l.passes.end(n, err, failures)
		paused := time.Now().Add(l.Pause)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			pause := backoff(failures, firstPause, lastPause)
			work.log.ErrorContext(ctx, "background work failed",
				"error", err, "failures", failures, "pause_ms", pause.Milliseconds())
			wait(ctx, pause, nil)
		case n == 0:
			wait(ctx, jitter(l.Interval), l.Wake)
		}
		if left := time.Until(paused); left > 0 {
			wait(ctx, left, nil)
		}
	}
	work.flush(ctx)
	return nil
}

func (l Loop) runOnce(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	n := 0
	err := withoutPanic(func() error {
		var err error
		n, err = l.RunOnce(ctx)
		return err
	})
	return n, err
}

// report adds up the work of many runs, because a busy loop runs many times a second.
type report struct {
	log  *slog.Logger
	done int
	last time.Time
}

func (r *report) add(ctx context.Context, n int) {
	r.done += n
	if time.Since(r.last) >= reportEvery {
		r.flush(ctx)
	}
}

func (r *report) flush(ctx context.Context) {
	if r.done == 0 {
		return
	}
	r.log.InfoContext(ctx, "did background work", "done", r.done)
	r.done, r.last = 0, time.Now()
}

// withoutPanic turns a panic of fn into an error with its stack.
func withoutPanic(fn func() error) error {
	var err error
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		err = fn()
	}()
	return err
}

// wait returns after the time, at a wake-up, or when ctx ends.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// backoff doubles the pause with every failure up to the longest. The upper half of it is random, so that
// what failed together does not come back together.
func backoff(failures int, first, longest time.Duration) time.Duration {
	pause := longest
	if shift := failures - 1; shift < 16 {
		pause = min(first<<shift, longest)
	}
	return pause/2 + upTo(pause/2)
}

func jitter(d time.Duration) time.Duration {
	return d - d/10 + upTo(d/5)
}

func upTo(d time.Duration) time.Duration {
	return rand.N(d + 1) //nolint:gosec // it spreads the load and guards nothing
}
