package execution

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// expiredContext ends when the test says so, as if its deadline had come.
type expiredContext struct {
	context.Context //nolint:containedctx // it is one

	ended chan struct{}
}

func (c expiredContext) Done() <-chan struct{} { return c.ended }

func (c expiredContext) Err() error {
	select {
	case <-c.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestExecuteOutlastsTheRetriesOfTheQueue(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	var n atomic.Int64
	end := make(chan chan struct{}, 1)
	job := b.start(t, counting(&n, func(ctx context.Context, _ engines.Document) (engines.Report, error) {
		if ended := <-end; ended != nil {
			close(ended)
			<-ctx.Done()
		}
		return engines.Report{}, ctx.Err()
	}))
	interruptions := testConfig().MaxAttempts + 2
	for range interruptions {
		ctx := expiredContext{t.Context(), make(chan struct{})}
		end <- ctx.ended
		if err := b.executor.Execute(ctx, job); err != nil {
			t.Fatalf("Execute = %v, want nil: the run is handed over", err)
		}
		if len(end) > 0 {
			t.Fatalf("run = %+v, want its engine to run again", b.run(t, job.SubjectID))
		}
		job.Epoch = one[int](t, b, `SELECT max(epoch) FROM staged_jobs`)
	}
	end <- nil
	b.execute(t, job)
	b.wantRun(t, job, passed(2*interruptions+2), "0 PASSED")
	if got := n.Load(); got != int64(interruptions)+1 {
		t.Errorf("engine runs = %d, want %d", got, interruptions+1)
	}
}
