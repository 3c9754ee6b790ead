package execution

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func (b *testBundle) cancel(ctx context.Context, job jobs.Job) error {
	return b.executor.Cancel(ctx, core.Principal{OrgID: b.orgID, UserID: uuid.New()}, job.SubjectID)
}

func (b *testBundle) canceledAudits(tb testing.TB) int {
	tb.Helper()
	return one[int](tb, b, `SELECT count(*) FROM audit_records WHERE action = 'run.cancel'`)
}

func TestCancel(t *testing.T) {
	t.Parallel()

	t.Run("APendingRunIsNeverExecuted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		job := b.start(t, panicking)
		for range 2 {
			if err := b.cancel(t.Context(), job); err != nil {
				t.Errorf("Cancel = %v, want nil", err)
			}
		}
		want := ended(api.RunResultCanceled, "", 0, 0, 2, 0)
		for _, epoch := range []int{1, 2, 3} {
			job.Epoch = epoch
			b.execute(t, job)
		}
		b.wantRun(t, job, want, "")
		if got := b.canceledAudits(t); got != 1 {
			t.Errorf("audit records = %d, want one for two requests", got)
		}
		b.exec(t, `DELETE FROM staged_jobs`)
		b.sweep(t, 0)
	})

	t.Run("ARunningEngineIsStopped", func(t *testing.T) {
		t.Parallel()
		cfg := testConfig()
		// No heartbeat may be needed.
		cfg.Lease = time.Hour
		b := setup(t, cfg)
		begun := make(chan struct{})
		job := b.start(t, passing, func(ctx context.Context, doc engines.Document) (engines.Report, error) {
			close(begun)
			return blocked(ctx, doc)
		})
		done := make(chan error, 1)
		go func() { done <- b.executor.Execute(t.Context(), job) }()
		<-begun
		if err := b.cancel(t.Context(), job); err != nil {
			t.Errorf("Cancel = %v, want nil", err)
		}
		close(b.announced.canceled)
		if err := <-done; err != nil {
			t.Errorf("Execute = %v, want nil", err)
		}
		b.wantRun(t, job, ended(api.RunResultCanceled, "", 0, 1, 3, 1), "0 PASSED")
	})

	t.Run("LaterFindingsAreNotWritten", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		begun, finish := make(chan struct{}), make(chan struct{})
		job := b.start(t, func(context.Context, engines.Document) (engines.Report, error) {
			close(begun)
			<-finish
			return engines.Report{Errors: 2}, nil
		})
		done := make(chan error, 1)
		go func() { done <- b.executor.Execute(t.Context(), job) }()
		<-begun
		if err := b.cancel(t.Context(), job); err != nil {
			t.Errorf("Cancel = %v, want nil", err)
		}
		close(finish)
		if err := <-done; err != nil {
			t.Errorf("Execute = %v, want nil", err)
		}
		b.wantRun(t, job, ended(api.RunResultCanceled, "", 0, 0, 3, 1), "")
	})

	for name, tt := range map[string]struct {
		before string
		code   api.Code
	}{
		"NotWhatHasPassed": {
			`UPDATE validation_runs SET state = 'COMPLETED', result = 'PASS', ended_at = now(), sweep_after = NULL`,
			api.CodeRunCompleted,
		},
		"NotWhatIsReserved": {
			`UPDATE validation_runs SET usage_metric = '', sweep_after = 'infinity'`, api.CodeRunReserved,
		},
		"NotWhatIsChargedAndNotLaunched": {
			`UPDATE validation_runs SET sweep_after = 'infinity'`, api.CodeRunReserved,
		},
		"NotWhatIsNotThere": {`UPDATE validation_runs SET id = gen_random_uuid()`, api.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, testConfig())
			job := b.start(t, passing)
			b.exec(t, tt.before)
			if err := b.cancel(t.Context(), job); !errors.Is(err, tt.code) {
				t.Errorf("Cancel = %v, want %s", err, tt.code)
			}
			if got := b.canceledAudits(t); got != 0 {
				t.Errorf("audit records = %d, want none", got)
			}
		})
	}
}

// The first of the two ends the run, and its result is returned, shown and stored.
func TestCancelRacesWithCompletion(t *testing.T) {
	t.Parallel()
	const rounds = 1000
	b := setup(t, testConfig())
	begun, finish := make(chan struct{}), make(chan struct{})
	definition := validations.Definition{Accepts: []string{"text/race"}, Steps: []validations.Step{{
		ID: "s", Name: "S",
		Type: "test",
	}}}
	definition.Steps[0].Config = []byte("{}")
	ref := b.publish(t, definition)
	b.executor.plans.Add(ref.Digest, plan{definition: definition, engines: []engines.Engine{
		engine(func(context.Context, engines.Document) (engines.Report, error) {
			begun <- struct{}{}
			<-finish
			return engines.Report{}, nil
		}),
	}})
	canceled := 0
	for range rounds {
		job := b.create(t, ref)
		barrier := make(chan struct{})
		var racers sync.WaitGroup
		var err error
		racers.Go(func() { b.execute(t, job) })
		<-begun
		racers.Go(func() {
			<-barrier
			err = b.cancel(t.Context(), job)
		})
		racers.Go(func() {
			<-barrier
			finish <- struct{}{}
		})
		close(barrier)
		racers.Wait()
		result := b.run(t, job.SubjectID).Result
		switch {
		case err == nil && result == api.RunResultCanceled:
			canceled++
		case errors.Is(err, api.CodeRunCompleted) && result == api.RunResultPass:
		default:
			t.Fatalf("Cancel = %v with result %s, want nil with CANCELED or run_completed with PASS", err, result)
		}
	}
	if got := b.canceledAudits(t); got != canceled {
		t.Errorf("audit records = %d, want %d", got, canceled)
	}
	t.Logf("canceled %d of %d", canceled, rounds)
}
