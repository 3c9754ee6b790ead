package execution

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/jobs"
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

func TestExecuteDoesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	for _, tt := range []struct {
		name, before string
		org          uuid.UUID
	}{
		{"ForALowerEpoch", `UPDATE validation_runs SET epoch = epoch + 1 WHERE id = $1`, b.orgID},
		{"ForARunOfAnotherOrganization", `UPDATE validation_runs SET sweep_after = now() WHERE id = $1`, uuid.New()},
		{"WhileAnotherHasTheLease", `UPDATE validation_runs SET state = 'RUNNING', started_at = now(),
			lease_until = now() + interval '1 minute' WHERE id = $1`, b.orgID},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			job := b.start(t, counting(&n, passing))
			job.OrgID = tt.org
			b.exec(t, tt.before, job.SubjectID)
			before := b.version(t, job)
			b.execute(t, job)
			if n.Load() != 0 || b.version(t, job) != before {
				t.Errorf("engine runs = %d, row version %s after %s, want nothing done", n.Load(), b.version(t, job),
					before)
			}
		})
	}
}

// version changes with every write of the run's row.
func (b *testBundle) version(tb testing.TB, job jobs.Job) string {
	tb.Helper()
	return one[string](tb, b, `SELECT ctid || ' ' || xmin FROM validation_runs WHERE id = $1`, job.SubjectID)
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
	b.wantRun(t, job, passed(2), "0 PASSED")
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
	b.wantRun(t, job, ended(api.RunResultPass, "", 0, 2, 4, 1), "0 PASSED, 1 PASSED")
	if first.Load() != 1 || second.Load() != 2 {
		t.Errorf("engine runs = %d, %d, want 1 of the done step and 2 of the interrupted one", first.Load(),
			second.Load())
	}
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
