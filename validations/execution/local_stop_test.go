package execution

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestLocalStopsHandsOverWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 8, time.Minute)
	begun, free := make(chan struct{}, 4), make(chan struct{})
	ref := c.workflow(t, validations.Definition{}, func(context.Context, engines.Document) (engines.Report, error) {
		begun <- struct{}{}
		<-free
		return engines.Report{}, nil
	})
	r, ended := c.begin(t, ref)
	<-begun
	var waiting []localRun
	for range 3 {
		waits, _ := c.begin(t, ref)
		waiting = append(waiting, waits)
	}
	coretest.Eventually(t, func() bool { return c.local.engines.Usage().Waiting == 3 })
	go c.stop()
	for _, waits := range waiting {
		coretest.Eventually(t, func() bool { return !c.run(t, waits.Run.ID).Leased })
		want := bornLeased()
		want.Epoch, want.Attempts, want.Leased = 2, 0, false
		c.wantRun(t, waits.job(), want, "")
		c.wantStaged(t, waits, 2)
	}
	select {
	case <-c.staged.Ready():
	case <-time.After(time.Minute):
		t.Error("the enqueuer was not woken")
	}
	close(free)
	if completed := <-ended; !completed {
		t.Error("the run that had begun is not completed")
	}
	c.stop()
	c.wantRun(t, r.job(), passed(1), "0 PASSED")
	c.checkFree(t)
	for _, waits := range waiting {
		job := waits.job()
		job.Epoch = 2
		c.execute(t, job)
		c.wantRun(t, job, passed(3), "0 PASSED")
	}
}

func TestLocalStopsHandsOverWhatOutlastsTheGrace(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Millisecond)
	begun := make(chan struct{})
	r, ended := c.begin(t, c.workflow(t, validations.Definition{}, passing,
		func(ctx context.Context, _ engines.Document) (engines.Report, error) {
			close(begun)
			<-ctx.Done()
			return engines.Report{}, ctx.Err()
		}))
	<-begun
	c.stop()
	if completed := <-ended; completed {
		t.Error("the run is completed")
	}
	c.wantRun(t, r.job(), runRow{
		State: api.RunStateRunning, Result: api.RunResultUnknown, RecoveryPoint: 1, Epoch: 2, Swept: true,
	}, "0 PASSED")
	c.wantStaged(t, r, 2)
}

func TestLocalStopsHandsOverWhatIsCommittedAfterwards(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	var n atomic.Int64
	r := c.reserve(t, c.workflow(t, validations.Definition{}, counting(&n, passing)))
	go c.stop()
	c.awaitClosed(t)
	c.insert(t, r)
	if completed := <-r.slot.Execute(t.Context(), r.Prepared); completed || n.Load() != 0 {
		t.Errorf("completed, engine runs = %t, %d, want neither", completed, n.Load())
	}
	c.stop()
	c.wantStaged(t, r, 2)
}

func TestLocalStopsLeavesWhatCannotBeHandedOverToTheSweeper(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	r := c.reserve(t, c.workflow(t, validations.Definition{}, passing))
	c.insert(t, r)
	c.exec(t, `ALTER TABLE staged_jobs RENAME TO lost`)
	go c.stop()
	c.awaitClosed(t)
	<-r.slot.Execute(t.Context(), r.Prepared)
	c.wantRun(t, r.job(), bornLeased(), "")
}
