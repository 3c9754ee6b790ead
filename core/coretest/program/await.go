package program

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// Patience is for things that take a moment, also on a busy machine and with the race detector.
const Patience = coretest.Patience

// Await waits until the condition holds.
func Await(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	coretest.Await(tb, what, condition)
}

// Receive waits for a value from the channel, or for its end.
func Receive[T any](tb testing.TB, what string, from <-chan T) T {
	tb.Helper()
	return coretest.Receive(tb, what, from)
}

// Hold waits for the end of the channel as long as the test goes on, and reports whether it came. It is for hooks that
// hold something up: a test that fails lets it go.
func Hold(tb testing.TB, until <-chan struct{}) bool {
	tb.Helper()
	select {
	case <-until:
		return true
	case <-tb.Context().Done():
		return false
	}
}
