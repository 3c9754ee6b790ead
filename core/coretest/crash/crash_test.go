package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func TestCrash(t *testing.T) {
	t.Parallel()
	counted := 0
	for _, f := range flows() {
		first := counted
		counted += len(f.boundaries)
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			t.Run("undisturbed", func(t *testing.T) {
				t.Parallel()
				undisturbed(t, f)
			})
			for i, where := range f.places() {
				t.Run(fmt.Sprintf("B%d", i+1), func(t *testing.T) {
					t.Parallel()
					strikeAt(t, f, first+i, where)
				})
			}
		})
	}
}

// places are the boundaries of a flow, numbered if several have one name.
func (f flow) places() []at {
	seen := make(map[string]int)
	places := make([]at, len(f.boundaries))
	for i, name := range f.boundaries {
		seen[name]++
		places[i] = at{
			name: name, nth: seen[name], empty: name == opened || f.givesUp && i == 0,
			ownKey: f.givesUp && name == reserved,
		}
	}
	return places
}

// undisturbed checks that the flow has the boundaries that the cases are made for, and no other.
func undisturbed(t *testing.T, f flow) {
	t.Helper()
	s := newStage(t, f)
	var seen []string
	note := func(name string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		seen = append(seen, name)
	}
	noting := func(name string) pgproxy.Fault { return pgproxy.Fault{After: func() { note(name) }} }
	s.proxy.Watch(func(commit pgproxy.Commit) pgproxy.Fault {
		if name := commit.String(); !isByTheWay(name) {
			return noting(name)
		}
		return pgproxy.Fault{}
	})
	if f.shared {
		// How the runs come together is left to chance, but that they do is not.
		effects := make(map[string]pgproxy.Fault)
		for _, name := range f.boundaries {
			effects[name] = noting(name)
		}
		s.proxy.Watch(s.together(t, effects))
	}
	noteCall(s.billing.Plan, func() { note(callBilling) })
	if s.store != nil {
		noteCall(s.store.Plan, func() { note(callStore) })
	}
	if s.validator != nil {
		noteCall(s.validator.Plan, func() { note(callValidator) })
	}
	if s.receiver != nil && !f.shared {
		noteCall(s.receiver.Plan, func() { note(callReceiver) })
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("boundaries: %q", seen)
		}
	})
	s.launch(t)
	s.sending.Wait()
	program.Await(t, "the flow has come to its last boundary", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(seen) >= len(f.boundaries)
	})
	if f.part == command {
		s.victim.ExitCode(t)
	}
	s.finish(t, retry)
	s.conclude(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(seen, hookLeased); i >= 0 {
		// The worker may take a job, and more, before the enqueuer has committed that it handed it over.
		if late := slices.Index(seen[i:], handedOver); late > 0 {
			seen = slices.Insert(slices.Delete(seen, i+late, i+late+1), i, handedOver)
		}
	}
	if f.goesOn {
		seen = seen[:min(len(seen), len(f.boundaries))]
	}
	if diff := cmp.Diff(f.boundaries, seen); diff != "" {
		t.Errorf("boundaries (-want +got):\n%s", diff)
	}
}

// noteCall notes when a service has acted on a call.
func noteCall[C any](service *outside.Plan[C], note func()) {
	service.Watch(func(now outside.Moment, _ C) {
		if now == outside.Acted {
			note()
		}
	})
}

// isByTheWay tells the commits that every process makes now and then, whatever it is asked for.
func isByTheWay(commit string) bool {
	return slices.ContainsFunc([]string{
		"update api_tokens", "insert key_activity", "delete service_processes", "insert request_log",
	}, func(first string) bool { return strings.HasPrefix(commit, first) })
}

// strikeAt runs the cases of one boundary, which is the nth of all.
func strikeAt(t *testing.T, f flow, nth int, where at) {
	t.Helper()
	strikes, finishers := faultsOf(f.part, where), finishersOf(f)
	if !exhaustive {
		strikes, finishers = oneOf(strikes, nth), oneOf(finishers, nth)
	}
	for _, struck := range strikes {
		for _, who := range finishers {
			t.Run(string(struck)+"/"+string(who), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, f)
				s.strike(t, where, struck)
				s.launch(t)
				program.Receive(t, "the fault strikes", s.struck)
				if f.part == web && where.isCommit() && struck.isTold() {
					s.checkTold(t, where.outcomeOf(struck))
				}
				s.settle(t, struck, who)
				s.conclude(t)
			})
		}
	}
}

// oneOf takes turns: each boundary has another fault and another finisher than the one before it.
func oneOf[T any](all []T, nth int) []T { return all[nth%len(all):][:1] }
