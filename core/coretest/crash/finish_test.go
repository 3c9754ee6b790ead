package crash

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// finisher is who brings a flow to its end that a fault has struck.
type finisher string

const (
	// retry is the client or worker that has begun the flow: the client repeats its request, the worker continues or is
	// restarted.
	retry finisher = "retry"
	// others is the background work of another process, without the one that has begun the flow.
	others finisher = "others"
	// both is both at once.
	both finisher = "both"
)

func finishersOf(f flow) []finisher {
	// Nobody else knows of what these do: they do all or nothing.
	if f.part == command || f.name == "create" {
		return []finisher{retry}
	}
	return []finisher{retry, others, both}
}

// turns is how long the background work has its turns at something that it must leave alone.
const turns = 300 * time.Millisecond

// settle brings the flow to its end after the fault has struck.
func (s *stage) settle(tb testing.TB, f fault, who finisher) {
	tb.Helper()
	switch f {
	case freezeBefore, freezeAfter:
		s.passTime(tb)
		s.settleFrozen(tb, who)
	case stall:
		s.challenge(tb, who)
		s.release(tb)
		s.finish(tb, who)
	case hangUp:
		s.release(tb)
		program.Await(tb, "the request is finished or given back", func() bool {
			return program.Count(tb, s.DB, "SELECT count(*) FROM idempotency_keys WHERE locked_until > now()") == 0
		})
		s.finish(tb, who)
	default:
		s.release(tb)
		s.passTime(tb)
		s.finish(tb, who)
	}
}

// settleFrozen has the frozen process wake when the others are done, where there are others, or while they work.
func (s *stage) settleFrozen(tb testing.TB, who finisher) {
	tb.Helper()
	wakesFirst := who == both || s.flow.part == worker && who == retry
	if wakesFirst {
		if who == both {
			s.work(tb)
		}
		s.release(tb)
	}
	s.finish(tb, who)
	if !wakesFirst {
		s.release(tb)
	}
}

// finish has the finisher bring the flow to its end.
func (s *stage) finish(tb testing.TB, who finisher) {
	tb.Helper()
	if s.flow.part == command {
		program.Execute(tb, s.Settings, "", "admin", "purge")
		return
	}
	if who != retry {
		s.work(tb)
	}
	if who != others {
		s.retry(tb)
	}
	if s.workers || s.flow.part == worker {
		program.Await(tb, "no key is held", func() bool { return program.Count(tb, s.DB, keysHeld) == 0 })
		program.AwaitRest(tb, s.DB)
	}
}

// work starts a background process that nothing happens to, if there is none.
func (s *stage) work(tb testing.TB) {
	tb.Helper()
	if !s.workers {
		s.background(tb, s.Settings)
		s.workers = true
	}
}

// retry continues the flow with the client or worker that has begun it.
func (s *stage) retry(tb testing.TB) {
	tb.Helper()
	if s.flow.part == web {
		s.ask(tb)
		return
	}
	if s.victim.HasEnded() {
		s.work(tb)
	}
}

// ask sends the request until it has a final answer.
func (s *stage) ask(tb testing.TB) program.Answer {
	tb.Helper()
	var last program.Answer
	program.Await(tb, "the request has a final answer", func() bool {
		last = s.send(tb, s.request, key)
		s.note(tb, last)
		return last.Status == s.flow.status || tb.Failed()
	})
	return last
}

// challenge has others try to get what the victim holds, which they must leave alone.
func (s *stage) challenge(tb testing.TB, who finisher) {
	tb.Helper()
	if s.flow.part == command {
		return
	}
	before := s.epochs(tb)
	if who != retry {
		s.work(tb)
	}
	if who != others {
		s.note(tb, s.send(tb, s.request, key))
	}
	begun := time.Now()
	program.Await(tb, "the others have had their turns", func() bool {
		if now := s.epochs(tb); s.flow.part == web && now != before {
			tb.Errorf("takeovers = %d, want %d: what is held was taken", now, before)
			return true
		}
		return who == retry || time.Since(begun) > turns
	})
}

// epochs counts how often keys have been taken over.
func (s *stage) epochs(tb testing.TB) int {
	tb.Helper()
	return program.Count(tb, s.DB, `SELECT coalesce(sum(epoch), 0)::bigint FROM idempotency_keys
		WHERE recovery_point <> 'finished'`)
}

// conclude checks that the flow has had its effect once, and that nothing is left over.
func (s *stage) conclude(tb testing.TB) {
	tb.Helper()
	if s.flow.request != nil {
		s.ask(tb)
		s.work(tb)
		s.checkRest(tb)
		s.checkAnswers(tb)
	}
	counts := maps.Clone(s.flow.counts)
	counts[keysHeld], counts[jobsStaged] = 0, 0
	for query, want := range counts {
		if got := program.Count(tb, s.DB, query); got != want {
			tb.Errorf("%s = %d, want %d", query, got, want)
		}
	}
	if got := len(s.billing.Charges()); got != s.flow.charges || s.billing.Refused() != 0 {
		tb.Errorf("charges = %d with %d calls refused, want %d: %+v", got, s.billing.Refused(), s.flow.charges,
			s.billing.Charges())
	}
	if s.store != nil {
		s.checkStore(tb)
	}
	if s.validator == nil {
		return
	}
	if got := len(s.validator.Calls()); got != s.flow.calls || s.validator.Refused() != 0 {
		tb.Errorf("calls of the validator = %d with %d refused, want %d", got, s.validator.Refused(), s.flow.calls)
	}
}

func (s *stage) checkRest(tb testing.TB) {
	tb.Helper()
	if s.flow.name == "declined" {
		program.AwaitRest(tb, s.DB)
		return
	}
	program.CheckAtRest(tb, s.DB)
	if s.receiver != nil {
		program.CheckTold(tb, s.DB, s.receiver)
	}
}

// checkAnswers demands that all final answers are one, and that it is replayed from now on.
func (s *stage) checkAnswers(tb testing.TB) {
	tb.Helper()
	for range 2 {
		if last := s.ask(tb); !last.Replayed() {
			tb.Error("the answer after the end is not a replay")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.final {
		if !bytes.Equal(a.Body, s.final[0].Body) {
			tb.Errorf("answer = %s, want %s", a.Body, s.final[0].Body)
		}
	}
	firsts := slices.DeleteFunc(slices.Clone(s.final), program.Answer.Replayed)
	if len(firsts) > 2 {
		tb.Errorf("first answers = %d, want two at most: those of a stale holder and of its successor", len(firsts))
	}
}
