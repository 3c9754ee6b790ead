package execution

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// localCast is a Local that is open, with what tests count on.
type localCast struct {
	*testBundle

	local *Local
	// stop ends the process, and returns when Local has ended.
	stop func()
}

// setupLocal makes a Local of so many places and one engine.
func setupLocal(tb testing.TB, cfg Config, places int, grace time.Duration) localCast {
	tb.Helper()
	b := setup(tb, cfg)
	l := NewLocal(b.executor, places, grace)
	l.engines = share.New(1, 0)
	l.Open()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.Run(ctx) // It returns nil.
	}()
	stop := sync.OnceFunc(func() { cancel(); <-ended })
	tb.Cleanup(stop)
	return localCast{testBundle: b, local: l, stop: stop}
}

// localRun is a run on its way to its execution.
type localRun struct {
	validations.Prepared

	slot *Slot
}

func (r localRun) job() jobs.Job {
	return jobs.Job{OrgID: r.Run.OrgID, SubjectID: r.Run.ID}
}

// reserve reserves a place for a run of the workflow. It has none if there was none.
func (c localCast) reserve(tb testing.TB, ref validations.WorkflowRef) localRun {
	tb.Helper()
	prepared := c.prepared(tb, ref, validations.InlineContent([]byte("{}")))
	return localRun{prepared, c.local.Acquire(prepared, ref.Definition)}
}

// insert inserts the run, as the transaction of its start does.
func (c localCast) insert(tb testing.TB, r localRun) {
	tb.Helper()
	r.Lease = r.slot.Lease()
	err := db.Do(tb.Context(), c.db, func(tx db.Tx) error {
		batch := tx.NewBatch()
		c.testBundle.insert(batch, r.Prepared)
		return batch.Send(tb.Context())
	})
	if err != nil {
		tb.Fatalf("create run: %v", err)
	}
}

// begin starts a run of the workflow here.
func (c localCast) begin(tb testing.TB, ref validations.WorkflowRef) (localRun, <-chan bool) {
	tb.Helper()
	r := c.reserve(tb, ref)
	if r.slot == nil {
		tb.Fatal("there is no place")
	}
	c.insert(tb, r)
	return r, r.slot.Execute(tb.Context(), r.Prepared)
}

// awaitClosed waits until no place can be reserved.
func (c localCast) awaitClosed(tb testing.TB) {
	tb.Helper()
	coretest.Eventually(tb, func() bool {
		r := c.reserve(tb, validations.WorkflowRef{})
		r.slot.Release()
		return r.slot == nil
	})
}

func (c localCast) checkFree(tb testing.TB) {
	tb.Helper()
	coretest.Eventually(tb, func() bool {
		return c.local.slots.Usage().Taken == 0 && c.executor.memory.Usage().Taken == 0
	})
}

// bornLeased is a run that its own process holds.
func bornLeased() runRow {
	return runRow{
		State: api.RunStateRunning, Result: api.RunResultUnknown, Epoch: 1, Attempts: 1,
		Leased: true, Swept: true,
	}
}

// passed is a run of one step that has passed under the epoch.
func passed(epoch int) runRow { return ended(api.RunResultPass, "", 0, 1, epoch, 1) }

// ended is a run that has ended after its first steps, with so many errors of the document.
func ended(result api.RunResult, category api.ErrorCategory, errs int64, steps, epoch, attempts int) runRow {
	return runRow{api.RunStateCompleted, result, category, errs, steps, epoch, attempts, false, false}
}

func (c localCast) wantStaged(tb testing.TB, r localRun, epochs ...int) {
	tb.Helper()
	got := one[[]int](tb, c.testBundle,
		`SELECT coalesce(array_agg(epoch ORDER BY id), '{}') FROM staged_jobs WHERE subject_id = $1`, r.Run.ID)
	if len(got) != len(epochs) || len(got) > 0 && got[0] != epochs[0] {
		tb.Errorf("epochs of staged jobs = %v, want %v", got, epochs)
	}
}

func TestLocalExecutesWhatItHasStarted(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	var document []byte
	ref := c.workflow(t, validations.Definition{},
		func(_ context.Context, doc engines.Document) (engines.Report, error) {
			document = make([]byte, doc.Size)
			_, err := doc.Content.ReadAt(document, 0)
			return engines.Report{}, err
		})
	r := c.reserve(t, ref)
	c.insert(t, r)
	c.wantRun(t, r.job(), bornLeased(), "")
	if !one[bool](t, c.testBundle, `SELECT lease_until BETWEEN now() + interval '30 seconds'
		AND now() + interval '1 minute'
		AND sweep_after = lease_until AND started_at <= now() FROM validation_runs`) {
		t.Error("the lease does not last for a minute")
	}
	// The document comes from memory.
	c.exec(t, `UPDATE submissions SET content = 'ab'`)
	if completed := <-r.slot.Execute(t.Context(), r.Prepared); !completed {
		t.Error("the run is not completed")
	}
	if !bytes.Equal(document, []byte("{}")) {
		t.Errorf("document = %q, want {}", document)
	}
	c.wantRun(t, r.job(), passed(1), "0 PASSED")
	c.wantStaged(t, r)
	c.checkFree(t)
}

func TestAcquire(t *testing.T) {
	t.Parallel()
	of := func(kind string) validations.Definition {
		return validations.Definition{Steps: []validations.Step{{Type: engines.KindTable}, {Type: kind}}}
	}
	prepared := func(org uuid.UUID, size int) validations.Prepared {
		return validations.Prepared{
			Run: validations.Run{OrgID: org},
			Submission: validations.Submission{
				MediaType: "application/json", Content: make([]byte, size), Size: int64(size),
			},
		}
	}
	open := func(tb testing.TB) localCast { tb.Helper(); return setupLocal(tb, testConfig(), 4, time.Minute) }
	reserve := func(tb testing.TB, c localCast, run validations.Prepared, kind string) *Slot {
		tb.Helper()
		place := c.local.Acquire(run, of(kind))
		tb.Cleanup(place.Release)
		return place
	}

	t.Run("ReservesMemoryForTheHeaviestStep", func(t *testing.T) {
		t.Parallel()
		c := open(t)
		// The budget of 64 MiB, at 80 bytes for each byte of JSON.
		const most = 64 << 20 / 80
		org := uuid.New()
		place := reserve(t, c, prepared(org, most), engines.KindRules)
		if place == nil || reserve(t, c, prepared(org, 1), engines.KindRules) != nil {
			t.Error("the memory is not what the heaviest step needs")
		}
		if reserve(t, c, prepared(org, 1), engines.KindTable) == nil {
			t.Error("a document that needs no memory has no place")
		}
		place.Release()
		if reserve(t, c, prepared(org, most), engines.KindRules) == nil {
			t.Error("the memory was not given back")
		}
	})

	t.Run("TakesNoPlaceWithoutMemory", func(t *testing.T) {
		t.Parallel()
		c := open(t)
		if reserve(t, c, prepared(uuid.New(), 64<<20), engines.KindRules) != nil {
			t.Error("a document that is too large has a place")
		}
		if taken := c.local.slots.Usage().Taken; taken != 0 {
			t.Errorf("places taken = %d, want none", taken)
		}
	})

	t.Run("LeavesToTheWorkersWhatItCannotDo", func(t *testing.T) {
		t.Parallel()
		c, org := open(t), uuid.New()
		if reserve(t, c, prepared(org, 2), engines.KindHTTP) != nil {
			t.Error("a run that calls another service has a place")
		}
		chunked := prepared(org, 2)
		chunked.Submission.Content = nil
		if reserve(t, c, chunked, engines.KindTable) != nil {
			t.Error("a run whose document is not in memory has a place")
		}
		c.stop()
		if reserve(t, c, prepared(org, 2), engines.KindTable) != nil {
			t.Error("a process that stops has a place")
		}
	})
}

// TestTheTimeOfALocalRunBeginsWithItsExecution passes the time limit before a run is executed for the first time.
func TestTheTimeOfALocalRunBeginsWithItsExecution(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(t *testing.T, c localCast, run validations.Run){
		"AfterItsFirstLease": func(t *testing.T, c localCast, _ validations.Run) {
			t.Helper()
			c.exec(t, `UPDATE validation_runs SET lease_until = now(), sweep_after = now()`)
			c.sweep(t, 1)
		},
		"AfterItWasHandedOver": func(t *testing.T, c localCast, run validations.Run) {
			t.Helper()
			c.executor.handOver(t.Context(), run)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setupLocal(t, testConfig(), 4, time.Minute)
			ref := c.workflow(t, validations.Definition{TimeoutSeconds: 20}, passing)
			r := c.reserve(t, ref)
			c.insert(t, r)
			r.slot.Release()
			c.exec(t, `UPDATE validation_runs SET started_at = now() - interval '40 seconds'`)
			next(t, c, r.Run)
			job := r.job()
			job.Epoch = 2
			c.execute(t, job)
			c.wantRun(t, job, passed(3), "0 PASSED")
			if clock := newRunClock(ref.Definition, c.executor.cfg, 0); !clock.deadline.IsZero() || clock.left() <= 0 {
				t.Error("the time of a run begins before its first step has a place")
			}
		})
	}
}

func TestALocalRunOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	request, answered := context.WithCancel(t.Context())
	r := c.reserve(t, c.workflow(t, validations.Definition{}, func(
		ctx context.Context, document engines.Document,
	) (engines.Report, error) {
		answered()
		return passing(ctx, document)
	}))
	c.insert(t, r)
	if completed := <-r.slot.Execute(request, r.Prepared); !completed {
		t.Errorf("run = %+v, want it completed although its request has ended", c.run(t, r.Run.ID))
	}
}

// TestALeaseThatARunIsBornWithIsNoAttempt lets the process of a start die before the run has its turn.
func TestALeaseThatARunIsBornWithIsNoAttempt(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.MaxAttempts = 1
	c := setupLocal(t, cfg, 4, time.Minute)
	r := c.reserve(t, c.workflow(t, validations.Definition{}, passing))
	c.insert(t, r)
	r.slot.Release()
	c.exec(t, `UPDATE validation_runs SET lease_until = now(), sweep_after = now()`)
	c.sweep(t, 1)
	job := r.job()
	job.Epoch = 2
	c.execute(t, job)
	c.wantRun(t, job, passed(3), "0 PASSED")
}

func TestAPanicFailsTheAttempt(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	ref := c.workflow(t, validations.Definition{}, passing)
	// The definition has no step for the engine.
	c.executor.plans.Add(ref.Digest, plan{engines: []engines.Engine{engine(passing)}})
	r, ended := c.begin(t, ref)
	if completed := <-ended; completed {
		t.Error("the run is completed")
	}
	want := bornLeased()
	want.Leased = false
	c.wantRun(t, r.job(), want, "")
	c.checkFree(t)
}

// Places that are not used must not be lost: there are few of them.
func TestPlacesAreGivenBack(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 4, time.Minute)
	for _, step := range []engine{passing, failing, panicking, broken} {
		ref := c.workflow(t, validations.Definition{}, step)
		reserved := c.reserve(t, ref).slot
		if usage := c.local.Usage(); usage.Taken != 1 || usage.Places != 4 {
			t.Errorf("usage = %+v with one place reserved, want 1 of 4", usage)
		}
		reserved.Release()
		_, ended := c.begin(t, ref)
		<-ended
	}
	c.checkFree(t)
	c.stop()
	if usage := c.local.Usage(); usage != (share.Usage{}) {
		t.Errorf("usage = %+v when the process stops, want no places", usage)
	}
}

// TestQueuedRunsGoOnBesideLocalOnes fills every place and every engine of local runs with those of one organization.
func TestQueuedRunsGoOnBesideLocalOnes(t *testing.T) {
	t.Parallel()
	c := setupLocal(t, testConfig(), 8, time.Minute)
	ref := c.workflow(t, validations.Definition{}, deaf(t))
	for range 8 {
		c.begin(t, ref)
	}
	if r := c.reserve(t, ref); r.slot != nil {
		t.Fatal("a place is left")
	}
	own := c.start(t, passing)
	c.execute(t, own)
	c.wantRun(t, own, passed(2), "0 PASSED")
	other := *c.testBundle
	other.orgID = uuid.New()
	c.exec(t, `INSERT INTO organizations (id, slug, name) VALUES ($1, 'other', 'Other')`, other.orgID)
	job := other.start(t, passing)
	other.execute(t, job)
	other.wantRun(t, job, passed(2), "0 PASSED")
	local := localCast{testBundle: &other, local: c.local}
	// Its engine is one above the limit, because it has none.
	_, ended := local.begin(t, local.workflow(t, validations.Definition{}, passing))
	if completed := <-ended; !completed {
		t.Error("another organization's local run is not completed")
	}
}

func TestProgressIsAnnounced(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	steps := []engine{passing, passing}
	job, canceled := b.start(t, steps...), b.start(t, passing)
	b.execute(t, job)
	if err := b.executor.Cancel(t.Context(), core.Principal{OrgID: b.orgID}, canceled.SubjectID); err != nil {
		t.Error(err)
	}
	want := map[uuid.UUID][]validations.Progress{
		job.SubjectID: {2, validations.ProgressCompleted}, canceled.SubjectID: {validations.ProgressCompleted},
	}
	if diff := cmp.Diff(want, b.announced.ofRun); diff != "" {
		t.Errorf("announced progress (-want +got):\n%s", diff)
	}
}
