package execution

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// deaf returns an engine that ignores its context until the test ends.
func deaf(tb testing.TB) engine {
	tb.Helper()
	ended := make(chan struct{})
	tb.Cleanup(func() { close(ended) })
	return func(context.Context, engines.Document) (engines.Report, error) {
		<-ended
		return engines.Report{}, nil
	}
}

// text is what the run says of its end.
func (b *testBundle) text(tb testing.TB, job jobs.Job) string {
	tb.Helper()
	return one[string](tb, b, `SELECT error FROM validation_runs WHERE id = $1`, job.SubjectID)
}

// timedOut is a run that has timed out after so many steps.
func timedOut(steps int) runRow {
	return ended(api.RunResultTimedOut, api.ErrorCategoryTimeout, 0, steps, 2, 1)
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()

	t.Run("ADefinitionCannotSetMore", func(t *testing.T) {
		t.Parallel()
		cfg := testConfig()
		cfg.StepTimeout, cfg.RunTimeout = 200*time.Millisecond, 30*time.Second
		b := setup(t, cfg)
		job := b.startDefinition(t, validations.Definition{
			TimeoutSeconds: 60,
			Steps:          []validations.Step{{TimeoutSeconds: 60}},
		}, blocked)
		b.execute(t, job)
		b.wantRun(t, job, timedOut(0), "")
		if got, want := b.text(t, job), `Step "Step" took longer than 200ms.`; got != want {
			t.Errorf("error = %q, want %q", got, want)
		}
	})

	t.Run("TheRunsLimitStopsAStep", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		// The first step has to be done in this time, also on a busy machine.
		job := b.startDefinition(t, validations.Definition{TimeoutSeconds: 10}, passing, blocked, panicking)
		b.execute(t, job)
		b.wantRun(t, job, timedOut(1), "0 PASSED")
		if got, want := b.text(t, job), `The run took longer than 10s; it was at step "Step".`; got != want {
			t.Errorf("error = %q, want %q", got, want)
		}
	})
}

func TestAnEngineThatIgnoresItsDeadlineIsAbandoned(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.StepTimeout = 20 * time.Millisecond
	b := setup(t, cfg)
	end := make(chan struct{})
	job := b.start(t, func(context.Context, engines.Document) (engines.Report, error) {
		<-end
		return engines.Report{Errors: 1}, nil
	})
	b.execute(t, job)
	b.wantRun(t, job, timedOut(0), "")
	if got := b.executor.abandoned.Load(); got != 1 {
		t.Errorf("abandoned engines = %d, want 1", got)
	}
	close(end)
	coretest.Eventually(t, func() bool { return b.executor.abandoned.Load() == 0 })
	b.wantRun(t, job, timedOut(0), "")
}

func TestPoisonRunsDoNotAffectOtherRuns(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	short := validations.Definition{Steps: []validations.Step{{TimeoutSeconds: 1}}}
	poison := []jobs.Job{
		b.start(t, panicking), b.start(t, broken),
		b.startDefinition(t, short, deaf(t)), b.startDefinition(t, short, blocked),
		b.startDefinition(t, validations.Definition{Steps: []validations.Step{{
			ID: "s", Name: "S", Type: "unheard",
			Config: []byte("{}"),
		}}}),
	}
	var good []jobs.Job
	for range 20 {
		good = append(good, b.start(t, passing))
	}
	queue := make(chan jobs.Job)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for job := range queue {
				b.execute(t, job)
			}
		})
	}
	for _, job := range append(poison, good...) {
		queue <- job
	}
	close(queue)
	workers.Wait()
	for _, job := range good {
		b.wantRun(t, job, passed(2), "0 PASSED")
	}
	got := one[int](t, b, `SELECT count(*) FROM validation_runs WHERE result IN ('ERROR', 'TIMED_OUT')`)
	if got != len(poison) {
		t.Errorf("runs that ended in ERROR or TIMED_OUT = %d, want the %d poisoned ones", got, len(poison))
	}
}

func TestLaterAttemptsAreSpread(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	const extra = `SELECT extract(epoch FROM sweep_after - lease_until)::float8 FROM validation_runs WHERE id = $1`
	for attempts, most := range map[int]float64{0: 0, 2: 2 * time.Minute.Seconds()} {
		var run uuid.UUID
		var waits float64
		job := b.start(t, func(context.Context, engines.Document) (engines.Report, error) {
			waits = one[float64](t, b, extra, run) //nolint:contextcheck // The test has a context of its own.
			return engines.Report{}, nil
		})
		run = job.SubjectID
		b.exec(t, `UPDATE validation_runs SET attempts = $2 WHERE id = $1`, run, attempts)
		b.execute(t, job)
		if waits > most || (most > 0 && waits == 0) {
			t.Errorf("wait beyond the lease after %d attempts = %g s, want some time up to %g s", attempts, waits, most)
		}
	}
}

func TestTheTimeOfAStepBeginsWithItsSlot(t *testing.T) {
	t.Parallel()
	const runsAtOnce = 4
	cfg := testConfig()
	b := setup(t, cfg)
	b.executor.places = share.New(1, 0)
	free, err := b.executor.places.Take(t.Context(), b.orgID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var freed time.Time
	var busy, most atomic.Int64
	step := func(ctx context.Context, _ engines.Document) (engines.Report, error) {
		most.Store(max(most.Load(), busy.Add(1)))
		defer busy.Add(-1)
		if end, _ := ctx.Deadline(); end.Before(freed.Add(cfg.StepTimeout)) {
			t.Errorf("a step may take until %s, want %s from %s on", end, cfg.StepTimeout, freed)
		}
		return engines.Report{}, nil
	}
	var runs sync.WaitGroup
	var started []jobs.Job
	for range runsAtOnce {
		started = append(started, b.start(t, step))
	}
	for _, job := range started {
		runs.Go(func() { b.execute(t, job) })
	}
	coretest.Eventually(t, func() bool { return b.executor.places.Usage().Waiting == runsAtOnce })
	freed = time.Now()
	free()
	runs.Wait()
	if most.Load() != 1 {
		t.Errorf("engines at once = %d, want 1", most.Load())
	}
	for _, job := range started {
		b.wantRun(t, job, passed(2), "0 PASSED")
	}
}
