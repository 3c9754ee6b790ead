package execution

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// sweep sweeps and wants that many runs staged.
func (b *testBundle) sweep(tb testing.TB, want int) {
	tb.Helper()
	n, err := b.executor.Sweep(tb.Context())
	if n != want || err != nil {
		tb.Fatalf("Sweep = %d, %v, want %d", n, err, want)
	}
}

func TestSweepStagesOverdueRuns(t *testing.T) {
	t.Parallel()
	const unstaged = `DELETE FROM staged_jobs; `
	for _, tt := range []struct {
		name, before string
		want         int
	}{
		{"NotWhatIsNotDue", unstaged, 0},
		{"PendingRunsWhoseJobWasLost", unstaged + `UPDATE validation_runs SET sweep_after = now()`, 1},
		{"NotWhatIsStaged", `UPDATE validation_runs SET sweep_after = now()`, 0},
		{"WhatIsStagedUnderAnOlderEpochOnly", `UPDATE validation_runs SET sweep_after = now(), epoch = 2`, 1},
		{"NotWhatIsLeased", unstaged + `UPDATE validation_runs SET state = 'RUNNING', sweep_after = now(),
			lease_until = now() + interval '1 minute'`, 0},
		{"WhoseLeaseHasEnded", unstaged + `UPDATE validation_runs SET state = 'RUNNING', sweep_after = now(),
			lease_until = now()`, 1},
		{"WhoseLeaseWasGivenBack", unstaged + `UPDATE validation_runs SET state = 'RUNNING', sweep_after = now()`, 1},
		{"NotWhatIsCompleted", unstaged + `UPDATE validation_runs SET state = 'COMPLETED', result = 'PASS',
			ended_at = now(), sweep_after = NULL`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, testConfig())
			job := b.start(t, passing)
			b.exec(t, tt.before)
			before := b.run(t, job.SubjectID)
			b.sweep(t, tt.want)
			after := b.run(t, job.SubjectID)
			if after.Epoch != before.Epoch+tt.want || after.State != before.State || after.Attempts != before.Attempts {
				t.Errorf("run = %+v after %+v, want %d epochs more and the same state", after, before, tt.want)
			}
			if tt.want == 1 {
				coretest.WantRow(t, b.db, coretest.Row{
					"kind": "validations.execute", "org_id": b.orgID.String(), "epoch": strconv.Itoa(after.Epoch),
				}, `SELECT kind, org_id, epoch FROM staged_jobs WHERE subject_id = $1 ORDER BY id DESC LIMIT 1`,
					job.SubjectID)
			}
			b.sweep(t, 0)
		})
	}
}

// A sweep does not wait for a run that somebody else changes.
func TestSweepSkipsLockedRuns(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	locked := b.start(t, passing)
	b.start(t, passing)
	b.exec(t, `DELETE FROM staged_jobs`)
	b.exec(t, `UPDATE validation_runs SET sweep_after = now()`)
	err := db.Do(t.Context(), b.db, func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT FROM validation_runs WHERE id = $1 FOR UPDATE`, locked.SubjectID)
		if err == nil {
			b.sweep(t, 1)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.sweep(t, 1)
}

// A job of a run that waits for its charge does nothing, whoever has staged it.
func TestExecuteLeavesReservedRunsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	job := b.start(t, passing)
	b.exec(t, `UPDATE validation_runs SET usage_metric = '', sweep_after = 'infinity'`)
	before := b.version(t, job)
	b.execute(t, job)
	if b.version(t, job) != before {
		t.Error("a run was leased that is not charged")
	}
}

func TestRequeueRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	for _, tt := range []struct{ name, before string }{
		{"WhatIsBeingExecuted", `UPDATE validation_runs SET state = 'RUNNING', started_at = now(),
			lease_until = now() + interval '1 minute' WHERE id = $1`},
		{"WhatIsReserved", `UPDATE validation_runs SET usage_metric = '', sweep_after = 'infinity' WHERE id = $1`},
		{"WhatIsChargedAndNotLaunched", `UPDATE validation_runs SET sweep_after = 'infinity' WHERE id = $1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := b.start(t, passing)
			b.exec(t, tt.before, job.SubjectID)
			before := b.version(t, job)
			err := b.executor.Requeue(t.Context(), core.Principal{OrgID: b.orgID}, job.SubjectID, "")
			if !errors.Is(err, errNotWaiting) || b.version(t, job) != before {
				t.Errorf("Requeue = %v, want %v and the run untouched", err, errNotWaiting)
			}
		})
	}
}

func TestRequeueEndsThePause(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	job := b.start(t, passing)
	b.exec(t, `UPDATE validation_runs SET sweeps = 6, sweep_after = now() + interval '1 hour'`)
	if err := b.executor.Requeue(t.Context(), core.Principal{OrgID: b.orgID}, job.SubjectID, ""); err != nil {
		t.Fatal(err)
	}
	if !one[bool](t, b, `SELECT sweep_after <= now() AND sweeps = 0 FROM validation_runs`) {
		t.Error("the run is not due at once, or its next pause is a long one")
	}
}

// The runs that were lost first come first where there are more than one sweep takes.
func TestSweepBeginsWithTheOldest(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	oldest := b.start(t, passing)
	b.exec(t, `DELETE FROM staged_jobs`)
	b.exec(t, `UPDATE validation_runs SET sweep_after = now() - interval '1 hour'`)
	b.exec(t, `
		INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
			submission_id, source, usage_metric, usage_period, request_id, sweep_after)
		SELECT org_id, gen_random_uuid(), workflow_id, workflow_version, workflow_slug, definition_digest,
			submission_id, source, usage_metric, usage_period, request_id, now()
		FROM validation_runs, generate_series(1, $1::integer)`, sweepBatch)
	b.sweep(t, sweepBatch)
	if !one[bool](t, b, `SELECT EXISTS (SELECT FROM staged_jobs WHERE subject_id = $1)`, oldest.SubjectID) {
		t.Error("the oldest run was not staged")
	}
}

// Runs whose jobs wait in the outbox are many while a backlog lasts.
func TestSweepLeavesABacklogAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	job := b.start(t, passing)
	for _, tt := range []struct{ age, next string }{
		{"2 seconds", "1 minute"}, {"5 minutes", "5 minutes"}, {"3 hours", "16 minutes"},
	} {
		b.exec(t, `UPDATE validation_runs SET sweep_after = now(), created_at = now() - $1::text::interval`, tt.age)
		before := b.run(t, job.SubjectID)
		b.sweep(t, 0)
		if after := b.run(t, job.SubjectID); after.Epoch != before.Epoch {
			t.Errorf("epoch = %d after %d, want the same", after.Epoch, before.Epoch)
		}
		if got := one[int](t, b, `SELECT sweeps FROM validation_runs`); got != 0 {
			t.Errorf("sweeps = %d, want none, as nothing was lost", got)
		}
		if !one[bool](t, b, `SELECT sweep_after BETWEEN now() + $1::text::interval - interval '30 seconds'
			AND now() + $1::text::interval + interval '30 seconds' FROM validation_runs`, tt.next) {
			t.Errorf("a run that has waited %s is looked at again in %s, want in %s", tt.age,
				one[string](t, b, `SELECT (sweep_after - now())::text FROM validation_runs`), tt.next)
		}
	}
}

func TestSweepBacksOff(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	b.start(t, passing)
	for _, minutes := range []int{1, 2, 4, 8, 16, 32, 64, 64, 64} {
		b.exec(t, `DELETE FROM staged_jobs`)
		b.exec(t, `UPDATE validation_runs SET sweep_after = now()`)
		b.sweep(t, 1)
		if !one[bool](t, b, `SELECT sweep_after BETWEEN now() + ($1 - 1) * interval '1 minute'
			AND now() + $1 * interval '1 minute' FROM validation_runs`, minutes) {
			t.Errorf("sweep_after = %s, want it in %d minutes",
				one[string](t, b, `SELECT (sweep_after - now())::text FROM validation_runs`), minutes)
		}
	}
}

func TestSweepWakesTheEnqueuer(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	b.start(t, passing)
	woken := func() bool {
		select {
		case <-b.staged.Ready():
			return true
		default:
			return false
		}
	}
	b.sweep(t, 0)
	if woken() {
		t.Error("the enqueuer was woken for nothing")
	}
	b.exec(t, `DELETE FROM staged_jobs`)
	b.exec(t, `UPDATE validation_runs SET sweep_after = now()`)
	b.sweep(t, 1)
	if !woken() {
		t.Error("the enqueuer was not woken")
	}
}

func TestSweepsAtOnceStageEachRunOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	const runs = 40
	for range runs {
		b.start(t, passing)
	}
	b.exec(t, `DELETE FROM staged_jobs`)
	b.exec(t, `UPDATE validation_runs SET sweep_after = now()`)
	var total atomic.Int64
	var sweepers sync.WaitGroup
	for range 8 {
		sweepers.Go(func() {
			n, err := b.executor.Sweep(t.Context())
			if err != nil {
				t.Errorf("Sweep: %v", err)
			}
			total.Add(int64(n))
		})
	}
	sweepers.Wait()
	n, err := b.executor.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := total.Load() + int64(n); got != runs {
		t.Errorf("swept = %d, want %d", got, runs)
	}
	coretest.WantRow(t, b.db, coretest.Row{
		"jobs": strconv.Itoa(runs), "runs": strconv.Itoa(runs), "first_epoch": "2", "last_epoch": "2",
	}, `SELECT count(*) AS jobs, count(DISTINCT subject_id) AS runs, min(epoch) AS first_epoch, max(epoch) AS last_epoch
		FROM staged_jobs`)
}

func TestASweptRunIsExecutedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	var n atomic.Int64
	old := b.start(t, counting(&n, passing))
	b.exec(t, `DELETE FROM staged_jobs`)
	b.exec(t, `UPDATE validation_runs SET sweep_after = now()`)
	b.sweep(t, 1)
	swept := jobs.Job{Kind: validations.JobExecute, OrgID: b.orgID, SubjectID: old.SubjectID, Epoch: 2}
	for _, job := range []jobs.Job{old, swept, old, swept} {
		b.execute(t, job)
	}
	if n.Load() != 1 {
		t.Errorf("engine runs = %d, want 1", n.Load())
	}
	b.wantRun(t, swept, runRow{
		State: api.RunStateCompleted, Result: api.RunResultPass, RecoveryPoint: 1,
		Epoch: 3, Attempts: 1,
	},
		"0 PASSED")
}
