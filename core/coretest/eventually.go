package coretest

import (
	"testing"
	"time"
)

const (
	eventuallyTimeout = 3 * time.Minute
	eventuallyPoll    = 10 * time.Millisecond
)

// Eventually waits until the condition holds and fails the test when it does not come to hold.
func Eventually(tb testing.TB, condition func() bool) {
	tb.Helper()
	deadline := time.After(eventuallyTimeout)
	poll := time.NewTicker(eventuallyPoll)
	defer poll.Stop()
	for !condition() {
		select {
		case <-deadline:
			tb.Fatalf("the condition did not come to hold within %s", eventuallyTimeout)
		case <-poll.C:
		}
	}
}
