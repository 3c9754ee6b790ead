package api

import (
	"net/http"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// whileWorking sends a start that waits for its run, and executes the run as a worker does.
func (s *stage) whileWorking(tb testing.TB, c call) answer {
	tb.Helper()
	answers := make(chan answer, 1)
	var request sync.WaitGroup
	request.Go(func() {
		if got, err := s.Send(tb.Context(), c); err == nil {
			answers <- got
		}
	})
	coretest.Eventually(tb, func() bool {
		s.Work(tb)
		return coretest.One[int64](tb, s.DB, `SELECT count(*) FROM validation_runs WHERE state = 'COMPLETED'`) > 0
	})
	request.Wait()
	close(answers)
	return <-answers
}

func TestStartWait(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ExecutesLocally(t)

	t.Run("IgnoresWhatItCannotUnderstand", func(t *testing.T) {
		t.Parallel()
		for _, preference := range []string{
			"wait", "wait=", "wait=x", "wait=-1", "wait=0", "waiting=9", "return=minimal",
		} {
			got := s.Must(t, http.StatusCreated, s.Start(t, "").With("Prefer", preference))
			if applied := got.Header.Get("Preference-Applied"); applied != "" {
				t.Errorf("%q: Preference-Applied = %q, want none", preference, applied)
			}
		}
	})

	t.Run("WaitsAMinuteAtMost", func(t *testing.T) {
		t.Parallel()
		got := s.Must(t, http.StatusCreated, s.Start(t, "").With("Prefer", "wait=999999"))
		if applied := got.Header.Get("Preference-Applied"); applied != "wait=60" {
			t.Errorf("Preference-Applied = %q, want wait=60", applied)
		}
	})
}

func TestStartWaitNeverDeniesARunThatWasStarted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Waits(t)
	s.Exec(t, `ALTER TABLE findings RENAME TO lost`)
	got := s.Must(t, http.StatusCreated, s.Start(t, "lost").With("Prefer", "wait=1"))
	run := fixture.Decoded[api.Run](t, got)
	if run.State != api.RunStatePending || got.Header.Get("Preference-Applied") != "" {
		t.Errorf("answer = %s %q, want the ordinary one", run.State, got.Header.Get("Preference-Applied"))
	}
}

func TestStartWaitEnds(t *testing.T) {
	t.Parallel()

	t.Run("WithTheProcess", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Waits(t)()
		run := fixture.Decoded[api.Run](t, s.Must(t, http.StatusCreated,
			s.Start(t, "p").With("Prefer", "wait=60")))
		if run.State != api.RunStatePending {
			t.Errorf("state = %s, want PENDING", run.State)
		}
	})
}
