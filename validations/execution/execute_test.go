package execution

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func (b *testBundle) wantRun(tb testing.TB, job jobs.Job, want runRow, steps string) {
	tb.Helper()
	if diff := cmp.Diff(want, b.run(tb, job.SubjectID)); diff != "" {
		tb.Errorf("run (-want +got):\n%s", diff)
	}
	if got := b.steps(tb, job.SubjectID); got != steps {
		tb.Errorf("steps = %q, want %q", got, steps)
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	again := validations.Step{ContinueOnFailure: true}
	for _, tt := range []struct {
		name       string
		definition validations.Definition
		engines    []engine
		want       runRow
		steps      string
	}{
		{
			"PassesWhenEveryStepPasses",
			validations.Definition{},
			[]engine{passing, passing},
			runRow{
				State: api.RunStateCompleted, Result: api.RunResultPass, RecoveryPoint: 2, Epoch: 2,
				Attempts: 1,
			},
			"0 PASSED, 1 PASSED",
		},
		{
			"EndsAtTheFirstFailingStep",
			validations.Definition{},
			[]engine{failing, passing},
			runRow{
				api.RunStateCompleted, api.RunResultFail, api.ErrorCategoryValidationFailed, 2, 1, 2,
				1, false, false,
			},
			"0 FAILED",
		},
		{
			"GoesOnWhereTheStepSaysSo",
			validations.Definition{Steps: []validations.Step{again}},
			[]engine{failing, passing, failing},
			runRow{
				api.RunStateCompleted, api.RunResultFail, api.ErrorCategoryValidationFailed, 4, 3, 2,
				1, false, false,
			},
			"0 FAILED, 1 PASSED, 2 FAILED",
		},
		{
			"FailsWhenOnlyAnEarlierStepFailed",
			validations.Definition{Steps: []validations.Step{again}},
			[]engine{failing, passing},
			runRow{
				api.RunStateCompleted, api.RunResultFail, api.ErrorCategoryValidationFailed, 2, 2, 2,
				1, false, false,
			},
			"0 FAILED, 1 PASSED",
		},
		{
			"SaysOnceWhyADocumentCannotBeRead",
			validations.Definition{Steps: []validations.Step{again, again}},
			[]engine{unreadable, unreadable, failing},
			runRow{
				api.RunStateCompleted, api.RunResultFail, api.ErrorCategoryValidationFailed, 3, 3, 2,
				1, false, false,
			},
			"0 FAILED, 1 SKIPPED, 2 FAILED",
		},
		{
			"EndsWhereADocumentCannotBeReadEither",
			validations.Definition{Steps: []validations.Step{again}},
			[]engine{unreadable, unreadable, passing},
			runRow{
				api.RunStateCompleted, api.RunResultFail, api.ErrorCategoryValidationFailed, 1, 2, 2,
				1, false, false,
			},
			"0 FAILED, 1 SKIPPED",
		},
		{
			"IsNotToBlameTheDocumentForAPanic",
			validations.Definition{},
			[]engine{passing, panicking},
			runRow{
				api.RunStateCompleted, api.RunResultError, api.ErrorCategoryRuntimeError, 0, 1, 2, 1,
				false, false,
			},
			"0 PASSED",
		},
		{
			"IsNotToBlameTheDocumentForAnError",
			validations.Definition{},
			[]engine{broken},
			runRow{
				api.RunStateCompleted, api.RunResultError, api.ErrorCategoryRuntimeError, 0, 0, 2, 1,
				false, false,
			},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := b.startDefinition(t, tt.definition, tt.engines...)
			b.execute(t, job)
			b.wantRun(t, job, tt.want, tt.steps)
		})
	}
}

func panicking(context.Context, engines.Document) (engines.Report, error) {
	panic("on purpose")
}

func broken(context.Context, engines.Document) (engines.Report, error) {
	return engines.Report{}, errors.New("the disk is gone")
}

// blocked waits until its context ends.
func blocked(ctx context.Context, _ engines.Document) (engines.Report, error) {
	<-ctx.Done()
	return engines.Report{}, ctx.Err()
}

func TestExecuteEndsStepsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.StepTimeout = 20 * time.Millisecond
	b := setup(t, cfg)
	late := func(ctx context.Context, _ engines.Document) (engines.Report, error) {
		<-ctx.Done()
		return engines.Report{}, nil
	}
	for name, step := range map[string]engine{"ThatNoticeIt": blocked, "ThatPassTooLate": late} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := b.start(t, step)
			b.execute(t, job)
			b.wantRun(t, job, runRow{
				api.RunStateCompleted, api.RunResultTimedOut,
				api.ErrorCategoryTimeout, 0, 0, 2, 1, false, false,
			}, "")
		})
	}
}

func TestExecuteDoesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	for _, tt := range []struct{ name, before string }{
		{"ForACompletedRun", `UPDATE validation_runs SET state = 'COMPLETED', result = 'PASS', ended_at = now(),
			sweep_after = NULL WHERE id = $1`},
		{"ForALowerEpoch", `UPDATE validation_runs SET epoch = epoch + 1 WHERE id = $1`},
		{"WhileAnotherHasTheLease", `UPDATE validation_runs SET state = 'RUNNING', started_at = now(),
			lease_until = now() + interval '1 minute' WHERE id = $1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			job := b.start(t, counting(&n, passing))
			b.exec(t, tt.before, job.SubjectID)
			before := b.version(t, job)
			b.execute(t, job)
			if n.Load() != 0 || b.version(t, job) != before {
				t.Errorf("engine runs = %d, row version %s after %s, want nothing done", n.Load(), b.version(t, job),
					before)
			}
		})
	}

	t.Run("ForAHigherEpoch", func(t *testing.T) {
		t.Parallel()
		var n atomic.Int64
		job := b.start(t, counting(&n, passing))
		job.Epoch++
		b.execute(t, job)
		if n.Load() != 0 {
			t.Errorf("engine runs = %d, want 0", n.Load())
		}
	})

	t.Run("WhenDeliveredAgain", func(t *testing.T) {
		t.Parallel()
		var n atomic.Int64
		job := b.start(t, counting(&n, passing))
		b.execute(t, job)
		before := b.version(t, job)
		b.execute(t, job)
		job.Epoch++
		b.execute(t, job)
		if n.Load() != 1 || b.version(t, job) != before {
			t.Errorf("engine runs = %d, want 1 and the row untouched", n.Load())
		}
	})

	t.Run("ForARunOfAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		var n atomic.Int64
		job := b.start(t, counting(&n, passing))
		job.OrgID = job.SubjectID
		b.execute(t, job)
		if n.Load() != 0 {
			t.Errorf("engine runs = %d, want 0", n.Load())
		}
	})
}

// version changes with every write of the run's row.
func (b *testBundle) version(tb testing.TB, job jobs.Job) string {
	tb.Helper()
	return one[string](tb, b, `SELECT ctid || ' ' || xmin FROM validation_runs WHERE id = $1`, job.SubjectID)
}

func TestExecuteIsDoneOnceByMany(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	var n atomic.Int64
	job := b.start(t, counting(&n, passing), counting(&n, failing))
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() { b.execute(t, job) })
	}
	workers.Wait()
	if n.Load() != 2 {
		t.Errorf("engine runs = %d, want one for each step", n.Load())
	}
	b.wantRun(t, job, runRow{
		api.RunStateCompleted, api.RunResultFail, api.ErrorCategoryValidationFailed,
		2, 2, 2, 1, false, false,
	},
		"0 PASSED, 1 FAILED")
}

func TestExecuteAfterLeaseWasTakenCommitHasNoEffect(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	begun, finish := make(chan struct{}), make(chan struct{})
	stale := b.start(t, func(context.Context, engines.Document) (engines.Report, error) {
		begun <- struct{}{}
		<-finish
		return engines.Report{Errors: 2}, nil
	})
	ended := make(chan error, 1)
	go func() { ended <- b.executor.Execute(t.Context(), stale) }()
	<-begun
	b.exec(t, `UPDATE validation_runs SET lease_until = now(), sweep_after = now()`)
	if n, err := b.executor.Sweep(t.Context()); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want the run", n, err)
	}
	before := b.version(t, stale)
	close(finish)
	if err := <-ended; err != nil {
		t.Errorf("Execute of the stale holder = %v, want nil", err)
	}
	if b.version(t, stale) != before {
		t.Error("the stale holder wrote the run")
	}
	b.wantRun(t, stale, runRow{
		State: api.RunStateRunning, Result: api.RunResultUnknown, Epoch: 3,
		Attempts: 1, Swept: true,
	}, "")
}

func TestExecuteAfterLeaseWasTakenIsStopped(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Lease = 3 * time.Second
	b := setup(t, cfg)
	begun := make(chan struct{})
	job := b.start(t, func(ctx context.Context, doc engines.Document) (engines.Report, error) {
		close(begun)
		return blocked(ctx, doc)
	})
	ended := make(chan error, 1)
	go func() { ended <- b.executor.Execute(t.Context(), job) }()
	<-begun
	b.exec(t, `UPDATE validation_runs SET epoch = epoch + 1, lease_until = now() + interval '1 hour'`)
	if err := <-ended; err != nil {
		t.Errorf("Execute = %v, want nil", err)
	}
	b.wantRun(t, job,
		runRow{
			State: api.RunStateRunning, Result: api.RunResultUnknown, Epoch: 3, Attempts: 1,
			Leased: true, Swept: true,
		}, "")
}

func TestExecuteKeepsTheLeaseOfALivingHolder(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Lease = 15 * time.Second
	b := setup(t, cfg)
	begun, finish := make(chan struct{}), make(chan struct{})
	job := b.start(t, func(ctx context.Context, _ engines.Document) (engines.Report, error) {
		close(begun)
		<-finish
		return engines.Report{}, ctx.Err()
	})
	ended := make(chan error, 1)
	go func() { ended <- b.executor.Execute(t.Context(), job) }()
	<-begun
	first := one[time.Time](t, b, `SELECT lease_until FROM validation_runs`)
	coretest.Eventually(t, func() bool {
		return one[time.Time](t, b, `SELECT lease_until FROM validation_runs`).After(first)
	})
	// It is as late as the first lease would have ended.
	b.exec(t, `UPDATE validation_runs SET lease_until = lease_until - ($1::timestamptz - now()),
			sweep_after = sweep_after - ($1::timestamptz - now())`, first)
	if n, err := b.executor.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v, want 0", n, err)
	}
	close(finish)
	if err := <-ended; err != nil {
		t.Errorf("Execute = %v, want nil", err)
	}
	b.wantRun(t, job, runRow{
		State: api.RunStateCompleted, Result: api.RunResultPass, RecoveryPoint: 1,
		Epoch: 2, Attempts: 1,
	},
		"0 PASSED")
}

func TestExecuteResumesAfterTheLastStep(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	var first, second atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	job := b.start(t, counting(&first, passing), counting(&second, func(stepCtx context.Context, _ engines.Document,
	) (engines.Report, error) {
		if second.Load() == 1 {
			cancel()
		}
		return engines.Report{}, stepCtx.Err()
	}))
	if err := b.executor.Execute(ctx, job); err != nil {
		t.Fatalf("Execute = %v, want nil: the run is handed over", err)
	}
	b.wantRun(t, job,
		runRow{
			State: api.RunStateRunning, Result: api.RunResultUnknown, RecoveryPoint: 1, Epoch: 3,
			Swept: true,
		}, "0 PASSED")
	job.Epoch = one[int](t, b, `SELECT max(epoch) FROM staged_jobs`)
	b.execute(t, job)
	b.wantRun(t, job, runRow{
		State: api.RunStateCompleted, Result: api.RunResultPass, RecoveryPoint: 2,
		Epoch: 4, Attempts: 1,
	},
		"0 PASSED, 1 PASSED")
	if first.Load() != 1 || second.Load() != 2 {
		t.Errorf("engine runs = %d, %d, want 1 of the done step and 2 of the interrupted one", first.Load(),
			second.Load())
	}
}

func TestExecuteGivesUpInTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	var n atomic.Int64
	job := b.start(t, counting(&n, passing))
	b.exec(t, `UPDATE validation_runs SET attempts = 3`)
	b.execute(t, job)
	b.wantRun(t, job, runRow{
		api.RunStateCompleted, api.RunResultError, api.ErrorCategorySystemError, 0,
		0, 2, 4, false, false,
	}, "")
	if text := one[string](t, b, `SELECT error FROM validation_runs`); !strings.Contains(text, "3 times") ||
		n.Load() != 0 {
		t.Errorf("error = %q after %d engine runs, want it to say 3 times, after none", text, n.Load())
	}
}

func TestExecuteWithoutAWorkingDefinition(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	job := b.startDefinition(t, validations.Definition{Steps: []validations.Step{{
		ID: "s", Name: "S", Type: "unheard",
		Config: []byte("{}"),
	}}})
	b.execute(t, job)
	b.wantRun(t, job, runRow{
		api.RunStateCompleted, api.RunResultError, api.ErrorCategorySystemError, 0,
		0, 2, 1, false, false,
	}, "")
}

func TestFindingsAreStoredWhateverTheDocumentHolds(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	job := b.start(t, func(context.Context, engines.Document) (engines.Report, error) {
		return engines.Report{Errors: 1, Truncated: true, Findings: []engines.Finding{{
			Severity: engines.SeverityError, Code: "a\x00", Message: "b\xff\x00", Path: "/\x00",
			Excerpt:     "\xed\xa0\x80",
			AssertionID: "\x00", Line: 3, Column: 4, Row: 5, SampleRows: []int{1, 2}, Truncated: true,
		}}}, nil
	})
	b.execute(t, job)
	got := one[string](t, b, `
		SELECT concat_ws('|', code, message, path, excerpt, assertion_id, line, "column", "row", count, sample_rows,
			truncated) FROM findings`)
	if want := "a\uFFFD|b\uFFFD\uFFFD|/\uFFFD|\uFFFD|\uFFFD|3|4|5|1|{1,2}|t"; got != want {
		t.Errorf("finding = %q, want %q", got, want)
	}
}
