package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestAnswersWithoutKeyAreTrue strikes requests without a key, which a client must not repeat blindly: the answer
// has to agree with what is in the database, now and when everything is done.
func TestAnswersWithoutKeyAreTrue(t *testing.T) {
	t.Parallel()
	nth := 0
	for _, f := range requestFlows() {
		for i, where := range f.places() {
			if !where.isCommit() {
				continue
			}
			nth++
			faults := append(toldFaults(), dropBefore, dropAfter, refuse)
			if !exhaustive {
				faults = oneOf(faults, nth)
			}
			for _, struck := range faults {
				t.Run(fmt.Sprintf("%s/B%d/%s", f.name, i+1, struck), func(t *testing.T) {
					t.Parallel()
					s := newStage(t, f)
					s.keyless = true
					s.strike(t, where.withoutKey(), struck)
					s.launch(t)
					program.Receive(t, "the fault strikes", s.struck)
					s.checkTold(t, where.outcomeOf(struck))
					s.release(t)
					s.checkLeft(t)
				})
			}
		}
	}
}

// withoutKey is the boundary for a request that has no key. A start beyond the quota gets one of ours when it is
// reserved.
func (w at) withoutKey() at {
	if w.ownKey || !strings.Contains(w.name, "insert idempotency_keys") {
		return w
	}
	writes := slices.DeleteFunc(strings.Split(w.name, ", "), func(write string) bool {
		return strings.HasSuffix(write, " idempotency_keys")
	})
	w.name = strings.Join(writes, ", ")
	return w
}

// outcome is what a fault at a commit comes to.
type outcome struct {
	// certain is set where the client must not be told of an unknown outcome, and there is committed what the request
	// asks for where it is told of one.
	certain   bool
	committed int
}

func (w at) outcomeOf(f fault) outcome {
	if f.commits() && !w.empty {
		return outcome{committed: 1}
	}
	return outcome{certain: f == refuse}
}

// checkTold waits for the answer to the request that was struck, and demands that the database agrees with it.
func (s *stage) checkTold(tb testing.TB, o outcome) {
	tb.Helper()
	s.sending.Wait()
	s.mu.Lock()
	final, refused := slices.Clone(s.final), slices.Clone(s.refused)
	s.mu.Unlock()
	if len(final)+len(refused) != 1 {
		tb.Fatalf("answers = %d final and %d others, want one", len(final), len(refused))
	}
	there := s.effects(tb)
	if len(final) == 1 {
		if there != 1 {
			tb.Errorf("effects = %d after %d, want 1", there, final[0].Status)
		}
		return
	}
	told := refused[0].Problem()
	tb.Logf("told %s (retryable %t) with %d effects: %s", told.Code, told.Retryable, there, told.Detail)
	switch {
	case o.certain:
		tb.Errorf("answer = %s, want a final one: the refused commit can be repeated", refused[0].Body)
	case told.Code == api.CodeOutcomeUnknown:
		s.checkUnknownTold(tb, told, o)
	case told.Code != api.CodeUnavailable:
		tb.Errorf("answer = %s, want %s or %s", refused[0].Body, api.CodeOutcomeUnknown, api.CodeUnavailable)
	case told.Retryable && s.keyless:
		if there != 0 {
			tb.Errorf("effects = %d after %q, want none", there, told.Detail)
		}
	case there != 1 && told.RunID != "":
		tb.Errorf("effects = %d after %q, want the run", there, told.Detail)
	}
}

func (s *stage) checkUnknownTold(tb testing.TB, told api.Problem, o outcome) {
	tb.Helper()
	if told.Retryable == s.keyless {
		tb.Errorf("retryable = %t, want it only with a key", told.Retryable)
	}
	if got := s.effects(tb); got != o.committed {
		tb.Errorf("effects = %d, want %d", got, o.committed)
	}
	if s.flow.name == "create" {
		return
	}
	run, err := uuid.Parse(told.RunID)
	if err != nil {
		tb.Fatalf("problem = %+v, want one that names the run", told)
	}
	if got := program.Count(tb, s.DB, allRuns+" WHERE id = $1", run); got != o.committed {
		tb.Errorf("runs with the id that was told = %d, want %d", got, o.committed)
	}
}

// effects counts what the request asks for.
func (s *stage) effects(tb testing.TB) int {
	tb.Helper()
	switch s.flow.name {
	case "create":
		return program.Count(tb, s.DB, "SELECT count(*) FROM workflows WHERE slug = 'three-steps'")
	case "rerun":
		return program.Count(tb, s.DB, allRuns+" WHERE rerun_of IS NOT NULL")
	default:
		return program.Count(tb, s.DB, allRuns)
	}
}

// checkLeft lets the background work finish what the request has begun, and demands that nothing comes of it that the
// client was not told of.
func (s *stage) checkLeft(tb testing.TB) {
	tb.Helper()
	before := s.effects(tb)
	s.passTime(tb)
	s.work(tb)
	program.Await(tb, "no key is held", func() bool { return program.Count(tb, s.DB, keysHeld) == 0 })
	s.checkRest(tb)
	if got := s.effects(tb); got != before {
		tb.Errorf("effects = %d in the end, want %d as the client was told", got, before)
	}
	if got := len(s.billing.Charges()); got > s.flow.charges*before {
		tb.Errorf("charges = %d for %d runs", got, before)
	}
}
