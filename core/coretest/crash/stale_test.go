package crash

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestStaleHolder freezes a process that holds a key or a run, and wakes it when another one has taken that over and is
// in the middle of its own work. Whatever the first one still does must not move anything.
func TestStaleHolder(t *testing.T) {
	t.Parallel()
	// The boundaries after which a key or a run is held.
	holding := map[string][]int{"local": {1}, "overage": {3, 4, 5}, "run": {1, 2, 3}, "external": {1, 2, 3, 4}}
	for _, f := range flows() {
		numbers := holding[f.name]
		if !exhaustive {
			numbers = numbers[max(0, len(numbers)-1):]
		}
		for _, number := range numbers {
			t.Run(fmt.Sprintf("%s/B%d", f.name, number), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, f)
				s.strike(t, f.places()[number-1], freezeAfter)
				s.launch(t)
				program.Receive(t, "the fault strikes", s.struck)
				s.passTime(t)
				resume := s.succeed(t)
				before := s.held(t)
				s.release(t)
				if f.part == worker || f.whole {
					// It ends when its handlers have returned, and only then it has tried all that it would.
					s.victim.Signal(t, syscall.SIGTERM)
					s.victim.ExitCode(t)
				}
				if after := s.held(t); after != before {
					t.Errorf("the stale holder changed %s to %s", before, after)
				}
				resume()
				s.conclude(t)
			})
		}
	}
}

// succeed has another process take over what the victim holds, and stops it there until the returned function is
// called.
func (s *stage) succeed(tb testing.TB) func() {
	tb.Helper()
	takeover := leased
	executes := s.flow.part == worker || s.flow.whole
	if !executes {
		takeover = "update idempotency_keys"
	}
	taken, goOn := make(chan struct{}), make(chan struct{})
	stop := once(func() { close(taken); program.Hold(tb, goOn) })
	proxy := pgproxy.Start(tb, s.database(tb))
	proxy.Watch(func(commit pgproxy.Commit) pgproxy.Fault {
		if commit.String() != takeover {
			return pgproxy.Fault{}
		}
		return pgproxy.Fault{After: stop}
	})
	resumed := make(chan struct{})
	if executes {
		s.background(tb, s.through(proxy))
		close(resumed)
	} else {
		second := program.Serve(tb, s.through(proxy), "--only", "web")
		go func() {
			defer close(resumed)
			if a, err := s.try(tb.Context(), s.request, second.URL(), key); err == nil {
				s.note(tb, a)
			}
		}()
	}
	program.Receive(tb, "another process takes over", taken)
	return func() { close(goOn); program.Receive(tb, "the successor has answered", resumed) }
}

// held is what the holder of a key or a run would change.
func (s *stage) held(tb testing.TB) string {
	tb.Helper()
	var text string
	if err := s.DB.Pool.QueryRow(tb.Context(), `
		SELECT coalesce((SELECT json_agg(k) FROM (
				SELECT recovery_point, epoch, locked_until, response_status FROM idempotency_keys) AS k)::text, '')
			|| coalesce((SELECT json_agg(r) FROM (
				SELECT state, recovery_point, epoch, lease_until, usage_metric FROM validation_runs) AS r)::text, '')
			|| (SELECT count(*) FROM step_runs)
			-- A job that has been taken already may still lie here: its enqueuer commits after its worker.
			|| (SELECT count(*) FROM staged_jobs AS s JOIN validation_runs AS r
				ON r.org_id = s.org_id AND r.id = s.subject_id AND r.epoch <= s.epoch)`).Scan(&text); err != nil {
		tb.Fatalf("read what is held: %v", err)
	}
	return text
}
