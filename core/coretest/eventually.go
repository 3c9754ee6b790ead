package coretest

import (
	"testing"
	"time"
)

const (
	// Patience is for things that take a moment, also on a busy machine and with the race detector.
	Patience     = 3 * time.Minute
	pollInterval = 10 * time.Millisecond
)

// Eventually waits until the condition holds and fails the test when it does not come to hold.
func Eventually(tb testing.TB, condition func() bool) {
	tb.Helper()
	Await(tb, "the condition holds", condition)
}

// Await is Eventually for a test that waits for several things.
func Await(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.After(Patience)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for !condition() {
		select {
		case <-deadline:
			tb.Fatalf("waited %s in vain: %s", Patience, what)
		case <-poll.C:
		}
	}
}

// Receive waits for a value from the channel, or for its end.
func Receive[T any](tb testing.TB, what string, from <-chan T) T {
	tb.Helper()
	var received T
	select {
	case received = <-from:
	case <-time.After(Patience):
		tb.Fatalf("waited %s in vain: %s", Patience, what)
	}
	return received
}
