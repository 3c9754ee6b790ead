package chaos

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// loggedKeys counts the requests in the log whose key begins like this.
func loggedKeys(tb testing.TB, i *program.Installation, prefix string) int {
	tb.Helper()
	return program.Count(tb, i.DB, `SELECT count(*) FROM request_log WHERE key LIKE $1`, prefix+"%")
}

// startAll starts a run with each key of a prefix, one after the other.
func startAll(tb testing.TB, i *program.Installation, s *program.Server, prefix string, count int) {
	tb.Helper()
	client := program.NewClient(tb, i.Harbour.Tokens.Executor)
	for n := range count {
		program.WantCreated(tb, client.Start(tb, s.URL(), program.Readings(tb, fmt.Sprintf("%s-%d", prefix, n))))
	}
}

// TestRequestLogAfterTheEnd ends servers while requests wait to be written to the log.
func TestRequestLogAfterTheEnd(t *testing.T) {
	t.Parallel()
	const requests = 20

	t.Run("AStopLosesNothing", func(t *testing.T) {
		t.Parallel()
		i := program.Install(t)
		s := program.Serve(t, i.Settings, "--only", "web")
		startAll(t, i, s, "stopped", requests)
		s.Signal(t, syscall.SIGTERM)
		if code := s.ExitCode(t); code != 0 {
			t.Fatalf("exit code = %d, want 0", code)
		}
		if got := loggedKeys(t, i, "stopped"); got != requests {
			t.Errorf("logged requests = %d, want all %d", got, requests)
		}
	})

	t.Run("AKillLosesWhatCameSinceTheLastFlush", func(t *testing.T) {
		t.Parallel()
		i := program.Install(t)
		s := program.Serve(t, i.Settings, "--only", "web")
		startAll(t, i, s, "flushed", requests)
		program.Await(t, "the requests are in the log", func() bool { return loggedKeys(t, i, "flushed") == requests })
		startAll(t, i, s, "killed", requests)
		s.Kill()
		s.AwaitEnd(t)
		if got := loggedKeys(t, i, "flushed"); got != requests {
			t.Errorf("logged requests = %d, want the %d that had been flushed", got, requests)
		}
		// The keys are not in the log alone: each start is still there, and is replayed by the next process.
		next := s.Again(t, i.Settings)
		client := program.NewClient(t, i.Harbour.Tokens.Executor)
		for n := range requests {
			again := client.Start(t, next.URL(), program.Readings(t, fmt.Sprintf("killed-%d", n)))
			if !again.Created() || !again.Replayed() {
				t.Errorf("start %d after the kill = %d, want a replay", n, again.Status)
			}
		}
		next.Signal(t, syscall.SIGTERM)
		if code := next.ExitCode(t); code != 0 {
			t.Fatalf("exit code = %d, want 0", code)
		}
		if got := loggedKeys(t, i, "killed"); got < requests || got > 2*requests {
			t.Errorf("logged requests = %d, want the %d replays and what was flushed before", got, requests)
		}
	})
}
