package execution

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// leaseBatch starts as many runs of one step and leases them in one transaction.
func (b *testBundle) leaseBatch(tb testing.TB, n int) []lease {
	tb.Helper()
	asked := make([]jobs.Job, n)
	for i := range asked {
		asked[i] = b.start(tb, passing)
	}
	leases, err := b.executor.acquireAll(tb.Context(), asked)
	if err != nil {
		tb.Fatalf("lease runs: %v", err)
	}
	return leases
}

// endOf is the end of the run's only step, with one finding.
func endOf(held lease) stepEnd {
	return stepEnd{
		epoch:    held.run.Epoch,
		findings: []engines.Finding{{Severity: engines.SeverityWarning, Code: "test.odd", Message: "odd"}},
		stepRun: validations.StepRun{
			OrgID: held.run.OrgID, ID: uuid.New(), RunID: held.run.ID, StepID: "s", Name: "S",
			Status:       api.StepStatusPassed,
			WarningCount: 1,
		},
		ending: verdict(0),
	}
}

func (b *testBundle) findings(tb testing.TB, id uuid.UUID) int {
	tb.Helper()
	return one[int](tb, b, `SELECT count(*) FROM findings WHERE run_id = $1`, id)
}

func TestLeasesOfABatch(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	first, ended, last := b.start(t, passing), b.start(t, passing), b.start(t, passing)
	b.execute(t, ended)
	stale := last
	stale.Epoch--
	leases, err := b.executor.acquireAll(t.Context(), []jobs.Job{ended, last, first, stale, first})
	if err != nil {
		t.Fatal(err)
	}
	var held []uuid.UUID
	for _, l := range leases {
		held = append(held, l.run.ID)
	}
	// Of a job that is there twice either may get the lease.
	if held[2] == uuid.Nil {
		held[2], held[4] = held[4], held[2]
	}
	if want := []uuid.UUID{{}, last.SubjectID, first.SubjectID, {}, {}}; !slices.Equal(held, want) {
		t.Errorf("leases = %v, want %v", held, want)
	}
	if got := string(leases[1].submission.Content); got != "{}" || leases[1].run.Epoch != last.Epoch+1 {
		t.Errorf("document = %q under epoch %d, want {} under the next one", got, leases[1].run.Epoch)
	}
}

func TestStepsOfABatch(t *testing.T) {
	t.Parallel()

	t.Run("AMemberWithoutItsLeaseWritesNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		leases := b.leaseBatch(t, 3)
		lost := leases[1].run.ID
		b.exec(t, `UPDATE validation_runs SET epoch = epoch + 1 WHERE id = $1`, lost)
		ends := []stepEnd{endOf(leases[0]), endOf(leases[1]), endOf(leases[2])}
		written, err := b.executor.commitSteps(t.Context(), ends)
		if err != nil {
			t.Fatal(err)
		}
		for i, held := range leases {
			kept := held.run.ID != lost
			completed := b.run(t, held.run.ID).State == api.RunStateCompleted
			steps, findings := b.steps(t, held.run.ID) != "", b.findings(t, held.run.ID) == 1
			if written[i].written != kept || completed != kept || steps != kept || findings != kept {
				t.Errorf("run %d: written, completed, step, finding = %t, %t, %t, %t, want %t",
					i, written[i].written, completed, steps, findings, kept)
			}
		}
	})

	t.Run("AFaultyMemberDoesNotFailTheOthers", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		leases := b.leaseBatch(t, 3)
		ends := []stepEnd{endOf(leases[0]), endOf(leases[1]), endOf(leases[2])}
		ends[1].findings[0].Severity = "ODD"
		outcomes := transactAll(t.Context(), ends, b.executor.commitSteps)
		if got := db.ViolatedConstraint(outcomes[1].err); got != "ck_findings_severity" {
			t.Errorf("error of the one at fault = %v, want that of the severity", outcomes[1].err)
		}
		for i, held := range leases {
			completed := b.run(t, held.run.ID).State == api.RunStateCompleted
			if want := i != 1; completed != want || outcomes[i].result.written != want {
				t.Errorf("run %d: completed, written = %t, %t, want %t", i, completed, outcomes[i].result.written, want)
			}
		}
	})
}

func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	var n atomic.Int64
	ref := b.workflow(t, validations.Definition{}, counting(&n, failing))
	var workers sync.WaitGroup
	var staged []jobs.Job
	for range 50 {
		staged = append(staged, b.create(t, ref))
	}
	for _, job := range staged {
		workers.Go(func() { b.execute(t, job) })
		workers.Go(func() { b.execute(t, job) })
	}
	workers.Wait()
	if n.Load() != 50 {
		t.Errorf("engine runs = %d, want one for each of 50 runs", n.Load())
	}
	want := ended(api.RunResultFail, api.ErrorCategoryValidationFailed, 2, 1, 2, 1)
	for _, job := range staged {
		b.wantRun(t, job, want, "0 FAILED")
		if got := b.findings(t, job.SubjectID); got != 1 {
			t.Errorf("findings = %d, want 1", got)
		}
	}
}
