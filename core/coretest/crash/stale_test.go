package crash

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestStaleHolder freezes a process that holds a key, a run or a webhook, and wakes it when another one has taken that
// over and is in the middle of its own work. Whatever the first one still does must not move anything.
func TestStaleHolder(t *testing.T) {
	t.Parallel()
	// The boundaries after which a key, a run or a webhook is held.
	holding := map[string][]int{
		"local": {1, 6, 7, 8}, "overage": {3, 4, 5}, "run": {1, 2, 3, 7, 8, 9}, "external": {1, 2, 3, 4},
	}
	if !exhaustive {
		holding = map[string][]int{"local": {1, 7}, "overage": {5}, "run": {3}, "external": {4}}
	}
	for _, f := range flows() {
		for _, number := range holding[f.name] {
			t.Run(fmt.Sprintf("%s/B%d", f.name, number), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, f)
				where := f.places()[number-1]
				s.strike(t, where, freezeAfter)
				s.launch(t)
				program.Receive(t, "the fault strikes", s.struck)
				s.passTime(t)
				resume := s.succeed(t, where)
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
func (s *stage) succeed(tb testing.TB, held at) func() {
	tb.Helper()
	takeover := leased
	executes := s.flow.part == worker || s.flow.whole
	switch {
	case slices.Contains([]string{hookLeased, callReceiver, attempted}, held.name):
		takeover = hookLeased
	case !executes:
		takeover = "update idempotency_keys"
	}
	taken, goOn := make(chan struct{}), make(chan struct{})
	first := once(func() { close(taken); program.Hold(tb, goOn) })
	const epochs = "SELECT coalesce(sum(epoch), 0) FROM webhooks"
	former := program.Count(tb, s.DB, epochs)
	stop := func() {
		// A look for webhooks that finds none due takes nothing over.
		if takeover != hookLeased || program.Count(tb, s.DB, epochs) > former {
			first()
		}
	}
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

// held is what the holder of a key, a run or a webhook would change.
func (s *stage) held(tb testing.TB) string {
	tb.Helper()
	var text string
	if err := s.DB.Pool.QueryRow(tb.Context(), `
		SELECT coalesce((SELECT json_agg(k) FROM (
				SELECT recovery_point, epoch, locked_until, response_status FROM idempotency_keys) AS k)::text, '')
			|| coalesce((SELECT json_agg(r) FROM (
				SELECT state, recovery_point, epoch, lease_until, usage_metric FROM validation_runs) AS r)::text, '')
			|| (SELECT count(*) FROM step_runs)
			|| coalesce((SELECT json_agg(w) FROM (
				SELECT epoch, lease_until, w.due_at, failing_since, tries, attempts, delivered, d.due_at AS again
				FROM webhooks AS w LEFT JOIN webhook_deliveries AS d ON d.webhook_id = w.id) AS w)::text, '')
			-- A job that has been taken already may still lie here: its enqueuer commits after its worker.
			|| (SELECT count(*) FROM staged_jobs AS s JOIN validation_runs AS r
				ON r.org_id = s.org_id AND r.id = s.subject_id AND r.epoch <= s.epoch)`).Scan(&text); err != nil {
		tb.Fatalf("read what is held: %v", err)
	}
	return text
}
