package execution

import (
	"context"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// waited waits for progress while a loop calls RunOnce.
func (b *testBundle) waited(tb testing.TB, waiters *Waiters, job jobs.Job, beyond validations.Progress,
	wait time.Duration, begin func(),
) bool {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	go func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if _, err := waiters.RunOnce(ctx); err != nil && ctx.Err() == nil {
				tb.Errorf("RunOnce: %v", err)
			}
			<-ticker.C
		}
	}()
	begin()
	return waiters.Await(ctx, RunKey{OrgID: job.OrgID, ID: job.SubjectID}, beyond, wait)
}

func TestWaiters(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	waiters := NewWaiters(b.db)
	job := b.start(t, passing)
	for _, tt := range []struct {
		name   string
		beyond validations.Progress
		begin  string
		want   bool
	}{
		{"NothingHappens", 0, `SELECT $1::uuid`, false},
		{"ItStarts", 0, `UPDATE validation_runs SET state = 'RUNNING', started_at = now() WHERE id = $1`, true},
		{"ItIsWhereItWas", 1, `SELECT $1::uuid`, false},
		{"AStepIsDone", 1, `UPDATE validation_runs SET recovery_point = 1 WHERE id = $1`, true},
		{"TheEndIsAwaited", validations.ProgressCompleted - 1, `SELECT $1::uuid`, false},
		{
			"ItEnds", validations.ProgressCompleted - 1,
			`UPDATE validation_runs SET state = 'COMPLETED', result = 'PASS',
			ended_at = now(), sweep_after = NULL WHERE id = $1`, true,
		},
	} {
		// On a busy machine it takes a while until a change is seen. What never comes is waited for a moment.
		wait := 200 * time.Millisecond
		if tt.want {
			wait = time.Minute
		}
		begin := func() { b.exec(t, tt.begin, job.SubjectID) }
		if got := b.waited(t, waiters, job, tt.beyond, wait, begin); got != tt.want {
			t.Errorf("%s: moved = %t, want %t", tt.name, got, tt.want)
		}
	}
	if len(waiters.waiting) != 0 {
		t.Errorf("still waiting = %d, want 0", len(waiters.waiting))
	}
	waiters.Close()
	if waiters.Open() || b.waited(t, waiters, job, validations.ProgressCompleted, time.Minute, func() {}) {
		t.Error("a request can wait although the process stops")
	}
}
