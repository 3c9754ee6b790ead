package conformance

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// rivals is how many requests are sent at once, to two processes in turn.
const rivals = 50

// reply is a call and what it was answered.
type reply struct {
	call   call
	answer program.Answer
}

func (r reply) first() bool { return r.answer.Created() && !r.answer.Replayed() }

// atOnce sends calls at once, in turn to the servers.
func (s *site) atOnce(tb testing.TB, calls []call) []reply {
	tb.Helper()
	replies, failures := make([]reply, len(calls)), make([]error, len(calls))
	servers := []*program.Server{s.one, s.other}
	barrier := make(chan struct{})
	var group sync.WaitGroup
	for i, c := range calls {
		request := c.request(tb, servers[i%len(servers)].URL())
		group.Go(func() {
			<-barrier
			a, err := s.client.Do(request)
			replies[i], failures[i] = reply{c, a}, err
		})
	}
	close(barrier)
	group.Wait()
	for _, err := range failures {
		if err != nil {
			tb.Fatalf("a request was not answered: %v", err)
		}
	}
	return replies
}

// wantOneFirst demands exactly one first answer, that requests like the first one got its bytes or were told to come
// again, and that others were refused. It returns the first.
func wantOneFirst(tb testing.TB, replies []reply) reply {
	tb.Helper()
	firsts := slices.DeleteFunc(slices.Clone(replies), func(r reply) bool { return !r.first() })
	if len(firsts) != 1 {
		tb.Fatalf("first answers = %d, want 1", len(firsts))
	}
	first := firsts[0]
	for _, r := range replies {
		switch {
		case r.answer.Status == core.Spec(api.CodeKeyInProgress).Status:
			wantComeAgain(tb, r.answer)
		case r.call.body != first.call.body:
			p := program.WantProblem(tb, r.answer, core.Spec(api.CodeKeyReused).Status, api.CodeKeyReused)
			if !slices.Equal(p.Differs, []string{"content"}) {
				tb.Errorf("differs = %v, want content", p.Differs)
			}
		case !r.answer.Created() || !bytes.Equal(r.answer.Body, first.answer.Body):
			tb.Errorf("answer = %d %s, want %s", r.answer.Status, r.answer.Body, first.answer.Body)
		}
	}
	return first
}

// wantComeAgain demands a refusal for the moment.
func wantComeAgain(tb testing.TB, a program.Answer) {
	tb.Helper()
	p := program.WantProblem(tb, a, core.Spec(api.CodeKeyInProgress).Status, api.CodeKeyInProgress)
	wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || wait < 1 || !p.Retryable {
		tb.Errorf("Retry-After = %q and retryable = %t, want a second at least and true",
			a.Header.Get("Retry-After"), p.Retryable)
	}
}

func (s *site) testConcurrency(t *testing.T) {
	t.Helper()
	t.Run("WhileTheFirstIsInFlight", s.testInFlight)
	t.Run("PreferWait", s.testPreferWait)
}

// testInFlight keeps the first request waiting for the counter of an organization, on a server that does nothing else:
// starts that are committed together with it wait as long, and hold the counters of their organizations meanwhile.
func (s *site) testInFlight(t *testing.T) {
	t.Parallel()
	tenant := s.Enroll(t, s.one.URL(), "in-flight")
	c := s.start(t).by(tenant.Tokens.Executor)
	s.created(t, c.key(t.Name()+"-before"))
	tx, err := s.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // It has been done below where the test has come that far.
	if _, err := tx.Exec(t.Context(), `SELECT FROM usage_counters WHERE org_id = $1 FOR UPDATE`,
		tenant.ID); err != nil {
		t.Fatalf("lock the counter: %v", err)
	}
	holder := program.Serve(t, s.Settings)
	answers := make(chan program.Answer, 1)
	request := c.request(t, holder.URL())
	go func() {
		a, _ := s.client.Do(request) // No answer is an empty one, which is not what is wanted below.
		answers <- a
	}()
	s.awaitHeld(t, tx.Conn().PgConn().PID())
	for _, server := range []*program.Server{holder, s.one, s.other} {
		wantComeAgain(t, s.on(t, server, c))
		wantComeAgain(t, s.on(t, server, c.json(`{"another":"document"}`)))
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatalf("unlock the counter: %v", err)
	}
	first := program.Receive(t, "the first request is answered", answers)
	program.WantCreated(t, first)
	s.replayed(t, c, first)
	s.refused(t, c.json(`{"another":"document"}`), api.CodeKeyReused)
	s.wantRuns(t, t.Name(), 1)
}

// awaitHeld waits until another session waits for a lock of this one.
func (s *site) awaitHeld(tb testing.TB, holder uint32) {
	tb.Helper()
	program.Await(tb, "a request waits for the lock", func() bool {
		return program.Count(tb, s.DB, `
			SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`, holder) > 0
	})
}

func (s *site) testPreferWait(t *testing.T) {
	t.Parallel()
	waiting := func(t *testing.T) call {
		t.Helper()
		return s.start(t).with("Prefer", "wait=30")
	}

	t.Run("AnswersWithTheCompletedRun", func(t *testing.T) {
		t.Parallel()
		a := s.created(t, waiting(t))
		wantWaited(t, a)
	})

	t.Run("StoresTheOrdinaryAnswer", func(t *testing.T) {
		t.Parallel()
		waited := s.created(t, waiting(t))
		ordinary := s.on(t, s.other, s.start(t))
		if !ordinary.Replayed() || ordinary.Run(t) != waited.Run(t) ||
			!bytes.Contains(ordinary.Body, []byte(`"state":"PENDING"`)) {
			t.Errorf("replay without the preference = %s, want run %s as it was at first", ordinary.Body, waited.Run(t))
		}
		s.replayedAlike(t, s.start(t), ordinary)
	})

	t.Run("ARetryMayWaitAsWell", func(t *testing.T) {
		t.Parallel()
		first := s.created(t, s.start(t))
		again := s.on(t, s.other, waiting(t))
		wantWaited(t, again)
		if !again.Replayed() || again.Run(t) != first.Run(t) {
			t.Errorf("answer = run %s (replayed %t), want a replay with run %s",
				again.Run(t), again.Replayed(), first.Run(t))
		}
		s.replayed(t, s.start(t), first)
	})

	t.Run("FiftyTimes", func(t *testing.T) {
		t.Parallel()
		firsts := 0
		for _, r := range s.atOnce(t, slices.Repeat([]call{waiting(t)}, rivals)) {
			switch {
			case r.answer.Created():
				wantWaited(t, r.answer)
			default:
				wantComeAgain(t, r.answer)
			}
			if r.first() {
				firsts++
			}
		}
		if firsts != 1 {
			t.Errorf("first answers = %d, want 1", firsts)
		}
		s.wantRuns(t, t.Name(), 1)
	})
}

// replayedAlike sends a call to both servers, which have to answer as an earlier replay did.
func (s *site) replayedAlike(tb testing.TB, c call, earlier program.Answer) {
	tb.Helper()
	for _, server := range []*program.Server{s.one, s.other} {
		if a := s.on(tb, server, c); !a.Replayed() || !bytes.Equal(a.Body, earlier.Body) {
			tb.Errorf("answer = %d %s, want a replay of %s", a.Status, a.Body, earlier.Body)
		}
	}
}

func wantWaited(tb testing.TB, a program.Answer) {
	tb.Helper()
	if applied := a.Header.Get("Preference-Applied"); applied != "wait=30" {
		tb.Errorf("Preference-Applied = %q, want wait=30", applied)
	}
	if !bytes.Contains(a.Body, []byte(`"state":"COMPLETED"`)) {
		tb.Errorf("answer = %s, want the completed run", a.Body)
	}
}
