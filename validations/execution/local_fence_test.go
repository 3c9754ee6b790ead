package execution

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestLocalIsFencedWhenItWakesAfterItsLease(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	var n atomic.Int64
	r := c.reserve(t, c.workflow(t, validations.Definition{}, counting(&n, passing)))
	c.insert(t, r)
	r.slot.acquiredAt = time.Now().Add(-time.Hour)
	c.exec(t, `UPDATE validation_runs SET lease_until = now(), sweep_after = now()`)
	c.sweep(t, 1)
	if completed := <-r.slot.Execute(t.Context(), r.Prepared); completed || n.Load() != 0 {
		t.Errorf("completed, engine runs = %t, %d, want neither", completed, n.Load())
	}
	c.wantStaged(t, r, 2)
	job := r.job()
	job.Epoch = 2
	c.execute(t, job)
	c.wantRun(t, job, passed(3), "0 PASSED")
}

func TestLocalRenewsALeaseThatIsStillItsOwn(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	renewed := false
	r := c.reserve(t, c.workflow(t, validations.Definition{},
		func(ctx context.Context, _ engines.Document) (engines.Report, error) {
			err := c.db.Pool.QueryRow(ctx, `
					SELECT lease_until > now() + interval '30 seconds' FROM validation_runs`).Scan(&renewed)
			return engines.Report{}, err
		}))
	c.insert(t, r)
	r.slot.acquiredAt = time.Now().Add(-time.Hour)
	c.exec(t, `UPDATE validation_runs SET lease_until = now() + interval '1 second'`)
	if completed := <-r.slot.Execute(t.Context(), r.Prepared); !completed || !renewed {
		t.Errorf("completed, renewed = %t, %t, want both", completed, renewed)
	}
}

func TestLocalIsFencedWhenItIsTakenOverWhileItComputes(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	begun, free := make(chan struct{}), make(chan struct{})
	var n atomic.Int64
	r, ended := c.begin(t, c.workflow(t, validations.Definition{},
		func(ctx context.Context, doc engines.Document) (engines.Report, error) {
			if n.Add(1) == 1 {
				close(begun)
				<-free
				return failing(ctx, doc)
			}
			return engines.Report{}, nil
		}))
	<-begun
	c.exec(t, `UPDATE validation_runs SET lease_until = now(), sweep_after = now()`)
	c.sweep(t, 1)
	job := r.job()
	job.Epoch = 2
	c.execute(t, job)
	close(free)
	if completed := <-ended; completed {
		t.Error("the stale holder has completed the run")
	}
	c.wantRun(t, job, passed(3), "0 PASSED")
	if got := c.findings(t, r.Run.ID); got != 0 {
		t.Errorf("findings of the stale holder = %d, want 0", got)
	}
}

// A transaction that has waited an hour for its locks does not take that hour from the lease of its run.
func TestTheLeaseOfALocalRunBeginsWithItsInsertion(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	r := c.reserve(t, c.workflow(t, validations.Definition{}, passing))
	coretest.StopClock(t, c.db, -time.Hour)
	c.insert(t, r)
	if left := one[float64](t, c.testBundle, `SELECT extract(epoch FROM lease_until - clock_timestamp())::float8
		FROM validation_runs`); left < 30 {
		t.Errorf("the lease ends in %g s, want it to be new", left)
	}
	r.slot.Release()
}

func TestLocalIsFencedWhenTheRunIsCanceled(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	begun, free := make(chan struct{}), make(chan struct{})
	r, ended := c.begin(t, c.workflow(t, validations.Definition{},
		func(context.Context, engines.Document) (engines.Report, error) {
			close(begun)
			<-free
			return engines.Report{}, nil
		}))
	<-begun
	if err := c.executor.Cancel(t.Context(), core.Principal{OrgID: c.orgID}, r.Run.ID); err != nil {
		t.Fatal(err)
	}
	close(free)
	if completed := <-ended; completed {
		t.Error("the canceled run was completed")
	}
	c.wantRun(t, r.job(), runRow{
		State: api.RunStateCompleted, Result: api.RunResultCanceled, Epoch: 2, Attempts: 1,
	}, "")
}

// A holder whose lease was taken over neither ends the run of its successor nor gives up its lease, whatever it knows.
func TestAStaleHolderEndsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	job := b.start(t, passing)
	b.exec(t, `UPDATE validation_runs SET state = 'RUNNING', epoch = 2, attempts = 2, started_at = now(),
		lease_until = now() + interval '1 hour', sweep_after = now() + interval '1 hour'`)
	before := b.run(t, job.SubjectID)
	stale := validations.Run{OrgID: job.OrgID, ID: job.SubjectID, Epoch: 1, Attempts: 1}
	if _, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (completion, error) {
		return complete(t.Context(), tx, stale, ending{
			result: api.RunResultTimedOut, category: api.ErrorCategoryTimeout, text: "It took too long.",
		})
	}); !errors.Is(err, errLeaseLost) {
		t.Errorf("complete = %v, want %v", err, errLeaseLost)
	}
	b.executor.release(t.Context(), stale)
	b.executor.handOver(t.Context(), stale)
	if diff := cmp.Diff(before, b.run(t, job.SubjectID)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}
