package execution

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// TestModelOfRuns does to runs whatever can be done to them, in any order, and compares the database with a model after
// each step. Runs are staged or born leased, processes die, wake after their lease and stop, jobs are delivered late,
// twice or never. Beside the model it checks what is promised: a step is written once, an end never changes, epochs and
// recovery points never fall, and a run that has not ended is always held, staged or due for a sweep.
func TestModelOfRuns(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	ref := b.workflow(t, validations.Definition{}, passing, failing)
	rapid.Check(t, func(t *rapid.T) {
		w := &runWorld{testBundle: b, t: t, ref: ref, model: make(map[uuid.UUID]modelRun)}
		w.exec(`DELETE FROM validation_runs`)
		w.exec(`DELETE FROM staged_jobs`)
		t.Repeat(map[string]func(*rapid.T){
			"":             w.check,
			"start staged": func(*rapid.T) { w.startRun(0) },
			"start leased": func(*rapid.T) { w.startRun(time.Hour) },
			"deliver":      w.deliver,
			"lose a job":   w.loseJob,
			"step":         w.step,
			"die":          func(t *rapid.T) { w.holders = w.without(w.drawHolder(t)) },
			"hand over":    w.handOverOne,
			"fail":         w.fail,
			"renew":        w.renew,
			"end a lease":  w.endLease,
			"sweep":        w.sweepAll,
			"cancel":       w.cancel,
		})
	})
}

// modelSteps is how many steps the runs of the model have.
const modelSteps = 2

// modelRun is a run in the model or in the database.
type modelRun struct {
	State    api.RunState
	Epoch    int
	Point    int
	Attempts int
	Leased   bool
	// Lapsed says that the lease has ended and was not given back.
	Lapsed bool
	// Staged says that there is a job of the run's epoch.
	Staged bool
	// Due says that the sweeper looks at the run.
	Due   bool
	Steps int
}

func (r modelRun) ended() bool { return r.State == api.RunStateCompleted }

// modelHolder is a process that believes to hold a run.
type modelHolder struct {
	id    uuid.UUID
	epoch int
	point int
}

// runWorld is the database, the model, and the processes that believe to hold runs.
type runWorld struct {
	*testBundle

	t       *rapid.T
	ref     validations.WorkflowRef
	model   map[uuid.UUID]modelRun
	holders []modelHolder
	started []uuid.UUID
	// staged are all jobs that were ever staged: the queue may deliver each of them at any time.
	staged []jobs.Job
}

func (w *runWorld) exec(query string, args ...any) {
	if _, err := w.db.Pool.Exec(w.t.Context(), query, args...); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
}

func (w *runWorld) startRun(leased time.Duration) {
	prepared, err := w.prepare(w.ref, validations.InlineContent([]byte("{}")))
	if err != nil {
		w.t.Fatal(err)
	}
	prepared.Lease = leased
	_, err = db.InBatch(w.t.Context(), w.db, func(batch *db.Batch) struct{} {
		w.insert(batch, prepared)
		return struct{}{}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.started = append(w.started, prepared.Run.ID)
	id, run := prepared.Run.ID, modelRun{State: api.RunStatePending, Epoch: 1}
	if leased > 0 {
		run = modelRun{State: api.RunStateRunning, Epoch: 1, Attempts: 1, Leased: true}
		w.holders = append(w.holders, modelHolder{id: id, epoch: 1})
	} else {
		w.stage(id, &run)
	}
	w.model[id] = run
}

// stage notes that the run was staged under its epoch.
func (w *runWorld) stage(id uuid.UUID, run *modelRun) {
	run.Staged = true
	w.staged = append(w.staged,
		jobs.Job{Kind: validations.JobExecute, OrgID: w.orgID, SubjectID: id, Epoch: run.Epoch})
}

// take removes a job from the outbox, and returns its run.
func (w *runWorld) take(job jobs.Job) modelRun {
	w.exec(`DELETE FROM staged_jobs WHERE subject_id = $1 AND epoch = $2`, job.SubjectID, job.Epoch)
	run := w.model[job.SubjectID]
	run.Staged = run.Staged && run.Epoch != job.Epoch
	w.model[job.SubjectID] = run
	return run
}

// deliver lets a process take a job, also one that was taken before.
func (w *runWorld) deliver(t *rapid.T) {
	job := draw(t, w.staged, "job")
	run := w.take(job)
	leases, err := w.executor.acquireAll(t.Context(), []jobs.Job{job})
	if err != nil {
		t.Fatal(err)
	}
	due := !run.ended() && !run.Leased && run.Epoch == job.Epoch
	if leases[0].acquired != due {
		t.Fatalf("acquired = %t, want %t for %+v", leases[0].acquired, due, run)
	}
	if !due {
		return
	}
	run.State, run.Leased, run.Lapsed, run.Due = api.RunStateRunning, true, false, false
	run.Epoch, run.Attempts = run.Epoch+1, run.Attempts+1
	if held := leases[0].run; held.Epoch != run.Epoch || held.RecoveryPoint != run.Point {
		t.Fatalf("lease = %+v, want that of %+v", held, run)
	}
	w.model[job.SubjectID] = run
	w.holders = append(w.holders, modelHolder{job.SubjectID, run.Epoch, run.Point})
}

// loseJob removes a staged job, as a queue that forgets it would.
func (w *runWorld) loseJob(t *rapid.T) {
	w.take(draw(t, w.staged, "job"))
}

// step lets a holder commit its next step, however late.
func (w *runWorld) step(t *rapid.T) {
	h := w.drawHolder(t)
	last := h.point == modelSteps-1
	end := stepEnd{epoch: h.epoch, stepRun: validations.StepRun{
		OrgID: w.orgID, ID: uuid.New(), RunID: h.id, Ordinal: h.point, StepID: "s", Name: "S",
		Status: api.StepStatusPassed,
	}}
	if last {
		end.ending = verdict(0)
	}
	written, err := w.executor.commitSteps(t.Context(), []stepEnd{end})
	if err != nil {
		t.Fatal(err)
	}
	run := w.model[h.id]
	holds := w.holds(h)
	if written[0].written != holds {
		t.Fatalf("written = %t, want %t by %+v for %+v", written[0].written, holds, h, run)
	}
	w.holders = w.without(h)
	if !holds {
		return
	}
	run.Point, run.Steps = run.Point+1, run.Steps+1
	if last {
		run.State, run.Leased, run.Lapsed, run.Due = api.RunStateCompleted, false, false, false
	} else {
		h.point++
		w.holders = append(w.holders, h)
	}
	w.model[h.id] = run
}

// handOverOne stops the process of a holder.
func (w *runWorld) handOverOne(t *rapid.T) {
	h := w.drawHolder(t)
	w.holders = w.without(h)
	held := []validations.Run{{OrgID: w.orgID, ID: h.id, Epoch: h.epoch}}
	if _, err := w.executor.handOverAll(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if run := w.model[h.id]; w.holds(h) {
		run.Leased, run.Lapsed, run.Due = false, false, false
		run.Epoch, run.Attempts = run.Epoch+1, run.Attempts-1
		w.stage(h.id, &run)
		w.model[h.id] = run
	}
}

// fail lets the attempt of a holder fail.
func (w *runWorld) fail(t *rapid.T) {
	h := w.drawHolder(t)
	w.holders = w.without(h)
	// So many attempts make a pause that outlasts the test.
	w.executor.release(t.Context(), validations.Run{OrgID: w.orgID, ID: h.id, Epoch: h.epoch, Attempts: 1000})
	if run := w.model[h.id]; w.holds(h) {
		run.Leased, run.Lapsed, run.Due = false, false, false
		w.model[h.id] = run
	}
}

// renew lets a holder renew its lease, also one whose lease has ended.
func (w *runWorld) renew(t *rapid.T) {
	h := w.drawHolder(t)
	lost := w.executor.lost(t.Context(), validations.Run{OrgID: w.orgID, ID: h.id, Epoch: h.epoch})
	if holds := w.holds(h); lost == holds {
		t.Fatalf("lost = %t, want %t", lost, !holds)
	} else if holds {
		run := w.model[h.id]
		run.Leased, run.Lapsed, run.Due = true, false, false
		w.model[h.id] = run
	}
}

// holds reports whether what the holder writes counts. A lease that has ended counts until another holder follows.
func (w *runWorld) holds(h modelHolder) bool {
	run := w.model[h.id]
	return !run.ended() && run.Epoch == h.epoch
}

// endLease ends the lease of a run, and makes a run without one due for the sweep, as time would.
func (w *runWorld) endLease(t *rapid.T) {
	id := w.drawRun(t)
	run := w.model[id]
	if run.ended() {
		t.Skip("the run has ended")
	}
	w.exec(`UPDATE validation_runs SET sweep_after = now(),
		lease_until = CASE WHEN lease_until IS NOT NULL THEN now() END WHERE id = $1`, id)
	run.Leased, run.Lapsed, run.Due = false, run.Leased || run.Lapsed, true
	w.model[id] = run
}

func (w *runWorld) sweepAll(t *rapid.T) {
	n, err := w.executor.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for id, run := range w.model {
		if !run.Due {
			continue
		}
		run.Due = false
		if run.Epoch == 1 && run.Point == 0 && run.Lapsed {
			run.Attempts = 0
		}
		run.Lapsed = false
		// A run whose job is staged is left alone.
		if !run.Staged {
			run.Epoch++
			want++
			w.stage(id, &run)
		}
		w.model[id] = run
	}
	if n != want {
		t.Fatalf("swept = %d, want %d", n, want)
	}
}

// cancel ends a run, whoever holds it.
func (w *runWorld) cancel(t *rapid.T) {
	id := w.drawRun(t)
	err := w.executor.Cancel(t.Context(), core.Principal{OrgID: w.orgID}, id)
	run := w.model[id]
	if run.ended() {
		if want := run.Point == modelSteps; (err != nil) != want {
			t.Fatalf("cancel = %v, want a refusal: %t", err, want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	run.State, run.Epoch = api.RunStateCompleted, run.Epoch+1
	run.Leased, run.Lapsed, run.Staged, run.Due = false, false, false, false
	w.model[id] = run
}

// check compares the database with the model, and demands that each run goes on by itself.
func (w *runWorld) check(t *rapid.T) {
	rows, err := w.db.Pool.Query(t.Context(), `
		SELECT id, state, epoch, recovery_point, attempts, coalesce(lease_until > now(), false),
			coalesce(lease_until <= now(), false),
			EXISTS (SELECT FROM staged_jobs AS j WHERE j.subject_id = r.id AND j.epoch = r.epoch),
			coalesce(sweep_after <= now(), false),
			(SELECT count(*) FROM step_runs AS s WHERE s.run_id = r.id),
			state <> 'COMPLETED' AND sweep_after IS NULL
		FROM validation_runs AS r`)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[uuid.UUID]modelRun)
	var id uuid.UUID
	var run modelRun
	var stuck bool
	_, err = pgx.ForEachRow(rows, []any{
		&id, &run.State, &run.Epoch, &run.Point, &run.Attempts, &run.Leased, &run.Lapsed, &run.Staged,
		&run.Due, &run.Steps, &stuck,
	}, func() error {
		found[id] = run
		if stuck {
			return fmt.Errorf("%w: %s", errStuck, id)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.model, found); diff != "" {
		t.Fatalf("runs (-model +database):\n%s", diff)
	}
}

var errStuck = errors.New("nobody would ever look at the run again")

func draw[T any](t *rapid.T, from []T, name string) T {
	if len(from) == 0 {
		t.Skip("there is none")
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, name)]
}

func (w *runWorld) drawHolder(t *rapid.T) modelHolder { return draw(t, w.holders, "holder") }

func (w *runWorld) drawRun(t *rapid.T) uuid.UUID { return draw(t, w.started, "run") }

// without returns the holders but one.
func (w *runWorld) without(gone modelHolder) []modelHolder {
	return slices.DeleteFunc(w.holders, func(h modelHolder) bool { return h == gone })
}
