package config_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

// waits lets requests wait and executes runs here, as a process that plays all parts does, until the returned function
// is called.
func (s *stage) waits(tb testing.TB) func() {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var parts sync.WaitGroup
	loop := tasks.Loop{Name: "waiters", Interval: execution.WaitInterval, RunOnce: s.Waiters.RunOnce}
	parts.Go(func() { _ = loop.Run(ctx, discard()) }) // It returns nil.
	s.Local.Open()
	parts.Go(func() { _ = s.Local.Run(ctx) }) // It returns nil.
	context.AfterFunc(ctx, s.Waiters.Close)
	stop := sync.OnceFunc(func() { cancel(); parts.Wait() }) // A test may stop it before its end.
	tb.Cleanup(stop)
	return stop
}

// whileWorking sends a start that waits for its run, and executes the run as a worker does.
func (s *stage) whileWorking(tb testing.TB, c call) answer {
	tb.Helper()
	answers := make(chan answer, 1)
	var request sync.WaitGroup
	request.Go(func() {
		if got, err := s.send(tb.Context(), c); err == nil {
			answers <- got
		}
	})
	dbtest.Eventually(tb, func() bool {
		s.work(tb)
		return one[int64](tb, s, `SELECT count(*) FROM validation_runs WHERE state = 'COMPLETED'`) > 0
	})
	request.Wait()
	close(answers)
	return <-answers
}

func TestStartWait(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.waits(t)

	t.Run("AnswersWithTheCompletedRun", func(t *testing.T) {
		t.Parallel()
		got := s.must(t, http.StatusCreated, s.start(t, "wait-1").with("Prefer", "respond-async, Wait=20; x=y"))
		run := decoded[validations.RunBody](t, got)
		if run.State != validations.StateCompleted || run.Result != validations.ResultPass {
			t.Errorf("run = %s %s, want COMPLETED PASS", run.State, run.Result)
		}
		if applied := got.header.Get("Preference-Applied"); applied != "wait=20" {
			t.Errorf("Preference-Applied = %q, want wait=20", applied)
		}
	})

	t.Run("StoresTheOrdinaryAnswer", func(t *testing.T) {
		t.Parallel()
		c := s.start(t, "wait-2")
		first := decoded[validations.RunBody](t, s.must(t, http.StatusCreated, c.with("Prefer", "wait=20")))
		replayed := s.must(t, http.StatusCreated, c)
		run := decoded[validations.RunBody](t, replayed)
		if run.ID != first.ID || run.State != validations.StatePending {
			t.Errorf("replay without Prefer = %s %s, want %s PENDING", run.ID, run.State, first.ID)
		}
		waited := s.must(t, http.StatusCreated, c.with("Prefer", "wait=20"))
		run = decoded[validations.RunBody](t, waited)
		if run.ID != first.ID || run.State != validations.StateCompleted {
			t.Errorf("replay with Prefer = %s %s, want %s COMPLETED", run.ID, run.State, first.ID)
		}
		if waited.header.Get("Idempotent-Replayed") != "true" {
			t.Error("a replay that waits is a replay all the same")
		}
	})

	t.Run("IgnoresWhatItCannotUnderstand", func(t *testing.T) {
		t.Parallel()
		for _, preference := range []string{
			"wait", "wait=", "wait=x", "wait=-1", "wait=0", "waiting=9", "return=minimal",
		} {
			got := s.must(t, http.StatusCreated, s.start(t, "").with("Prefer", preference))
			if applied := got.header.Get("Preference-Applied"); applied != "" {
				t.Errorf("%q: Preference-Applied = %q, want none", preference, applied)
			}
		}
	})

	t.Run("WaitsAMinuteAtMost", func(t *testing.T) {
		t.Parallel()
		got := s.must(t, http.StatusCreated, s.start(t, "").with("Prefer", "wait=999999"))
		if applied := got.header.Get("Preference-Applied"); applied != "wait=60" {
			t.Errorf("Preference-Applied = %q, want wait=60", applied)
		}
	})
}

func TestStartWaitForTheWorkers(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.LocalRuns = 0 })
	s.waits(t)

	t.Run("AnswersWhenAWorkerHasCompletedTheRun", func(t *testing.T) {
		t.Parallel()
		run := decoded[validations.RunBody](t, s.whileWorking(t, s.start(t, "w").with("Prefer", "wait=20")))
		if run.State != validations.StateCompleted {
			t.Errorf("state = %s, want COMPLETED", run.State)
		}
	})
}

func TestStartWaitNeverDeniesARunThatWasStarted(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.LocalRuns = 0 })
	s.waits(t)
	s.exec(t, `ALTER TABLE findings RENAME TO lost`)
	got := s.must(t, http.StatusCreated, s.start(t, "lost").with("Prefer", "wait=1"))
	run := decoded[validations.RunBody](t, got)
	if run.State != validations.StatePending || got.header.Get("Preference-Applied") != "" {
		t.Errorf("answer = %s %q, want the ordinary one", run.State, got.header.Get("Preference-Applied"))
	}
}

func TestStartWaitEnds(t *testing.T) {
	t.Parallel()

	t.Run("WithTheTime", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.LocalRuns = 0 })
		s.waits(t)
		run := decoded[validations.RunBody](t, s.must(t, http.StatusCreated, s.start(t, "t").with("Prefer", "wait=1")))
		if run.State != validations.StatePending {
			t.Errorf("state = %s, want PENDING", run.State)
		}
	})

	t.Run("WithTheProcess", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.LocalRuns = 0 })
		s.waits(t)()
		run := decoded[validations.RunBody](t, s.must(t, http.StatusCreated, s.start(t, "p").with("Prefer", "wait=60")))
		if run.State != validations.StatePending {
			t.Errorf("state = %s, want PENDING", run.State)
		}
	})
}
