package execution

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

const later = `"callback_timeout_seconds":3600`

// suspended starts a run whose validator has promised an answer.
func (b externalBundle) suspended(tb testing.TB) jobs.Job {
	tb.Helper()
	job := b.startHTTP(tb, later)
	b.validator.Script(outside.Promise)
	b.work(tb)
	want := runRow{State: api.RunStateRunning, Result: api.RunResultUnknown, Epoch: 3, Swept: true}
	if diff := cmp.Diff(want, b.run(tb, job.SubjectID)); diff != "" {
		tb.Fatalf("suspended run (-want +got):\n%s", diff)
	}
	if got := b.call(tb, job); got != (callRow{State: callWaiting, Until: true, Waiting: true}) {
		tb.Fatalf("call = %+v, want it waiting as long as the sweeper", got)
	}
	return job
}

func TestCallbackCountsOnce(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.suspended(t)
	b.wantCallback(t, callback{answer: outside.AnswerOf(false)}, http.StatusOK, true)
	before := b.version(t, job)
	b.wantCallback(t, callback{}, http.StatusOK, false)
	if b.version(t, job) != before {
		t.Error("a second callback has changed the run")
	}
	b.work(t)
	b.wantRun(t, job, ended(api.RunResultFail, api.ErrorCategoryValidationFailed, 1, 1, 5, 1), "0 FAILED")
	before = b.version(t, job)
	b.wantCallback(t, callback{}, http.StatusOK, false)
	b.wantCallback(t, callback{answer: "nonsense"}, http.StatusOK, false)
	if b.version(t, job) != before || b.work(t) != 0 {
		t.Error("a late callback has changed the run")
	}
}

func TestCallbackMayComeBeforeThePromise(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.startHTTP(t, later)
	b.validator.Script(outside.Hasty)
	b.work(t)
	b.wantCalls(t, 1)
	b.wantRun(t, job, passed(2), "0 PASSED")
	if n := b.work(t); n != 0 {
		t.Errorf("staged = %d, want 0", n)
	}
}

func TestCallbackFindsARunWhoseHolderHasDied(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.suspended(t)
	// As if the promise had not been written.
	b.exec(t, `UPDATE external_calls SET state = 'CALLING', callback_until = NULL`)
	b.exec(t, `UPDATE validation_runs SET lease_until = now() - interval '1 second', sweep_after = now()`)
	b.wantCallback(t, callback{}, http.StatusOK, true)
	b.takeOver(t, job)
	b.work(t)
	b.wantCalls(t, 1)
	if got := b.run(t, job.SubjectID); got.Result != api.RunResultPass {
		t.Errorf("run = %+v, want PASS", got)
	}
}

func TestCallbackIsNeededOnceForAllExecutions(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.suspended(t)
	for range 5 {
		b.exec(t, `UPDATE validation_runs SET sweep_after = now()`)
		if n, err := b.executor.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("Sweep = %d, %v, want 1", n, err)
		}
		b.work(t)
	}
	b.wantCalls(t, 1)
	if got := b.run(t, job.SubjectID); got.State != api.RunStateRunning || got.Attempts != 0 || got.Leased {
		t.Errorf("run = %+v, want it suspended without an attempt", got)
	}
	b.wantCallback(t, callback{}, http.StatusOK, true)
}

func TestCallbackRefused(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.suspended(t)
	before, call := b.version(t, job), b.call(t, job)
	for _, refused := range []struct {
		callback callback
		status   int
	}{
		{callback{secret: "svs_of-somebody-else"}, http.StatusUnauthorized},
		{callback{at: time.Now().Add(-time.Hour)}, http.StatusUnauthorized},
		{callback{at: time.Now().Add(time.Hour)}, http.StatusUnauthorized},
		{callback{answer: "PASS"}, http.StatusBadRequest},
		{callback{answer: "{}"}, http.StatusBadRequest},
		{callback{answer: `{"result":"MAYBE"}`}, http.StatusBadRequest},
		{callback{answer: strings.Repeat(" ", 1<<20) + "{}"}, http.StatusRequestEntityTooLarge},
	} {
		b.wantCallback(t, refused.callback, refused.status, false)
	}
	for _, receipt := range []string{uuid.NewString(), "nonsense", "..%2fruns"} {
		unknown := b.validator.Calls()[0]
		unknown.Callback.URL = b.executor.cfg.External.Address + "/api/callbacks/" + receipt + "/"
		if status, _, err := b.callBack(t.Context(), unknown, callback{}); status != http.StatusNotFound || err != nil {
			t.Errorf("callback to %s = %d, %v, want 404", receipt, status, err)
		}
	}
	if b.version(t, job) != before || b.call(t, job) != call {
		t.Error("a refused callback has changed something")
	}
	b.wantCallback(t, callback{}, http.StatusOK, true)
}

// Two runs of one organization are parked. What was signed for one says nothing about the other.
func TestCallbackIsBoundToItsCall(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	b.validator.Usually(outside.Promise)
	runs := []jobs.Job{b.startHTTP(t, later), b.startHTTP(t, later)}
	b.work(t)
	calls := b.validator.Calls()
	if len(calls) != 2 {
		t.Fatalf("calls = %d, want 2", len(calls))
	}
	if calls[0].Run != runs[0].SubjectID.String() {
		slices.Reverse(calls)
	}
	const answer = `{"result":"PASS","findings":[]}`
	now := time.Now()
	first, second := calls[0].Request, calls[1].Request
	firstSigned := outside.SignCallback(first, answer, b.secret, now)
	mixed := second
	mixed.Receipt = first.Receipt
	wrongRun := second
	wrongRun.Run = first.Run
	for name, signature := range map[string]string{
		"OfAnotherReceiptAndRun": firstSigned,
		"OfAnotherReceipt":       outside.SignCallback(mixed, answer, b.secret, now),
		"OfAnotherRun":           outside.SignCallback(wrongRun, answer, b.secret, now),
		"OfAnotherValidator": outside.SignCallback(second, answer,
			b.secretOf(t, "https://other.example").Secret, now),
		"Old": outside.SignCallback(second, answer, b.secret, now.Add(-6*time.Minute)),
	} {
		status, accepted, err := outside.Send(t.Context(), http.DefaultClient, second.Callback.URL, answer, signature)
		if err != nil || status != http.StatusUnauthorized || accepted {
			t.Errorf("%s: callback = %d, accepted %t, %v; want 401", name, status, accepted, err)
		}
	}
	// The same bytes with the same signature: where they belong, once more there, and at the other receipt.
	for _, want := range []struct {
		address  string
		status   int
		accepted bool
	}{
		{first.Callback.URL, http.StatusOK, true},
		{first.Callback.URL, http.StatusOK, false},
		{second.Callback.URL, http.StatusUnauthorized, false},
	} {
		status, accepted, err := outside.Send(t.Context(), http.DefaultClient, want.address, answer, firstSigned)
		if err != nil || status != want.status || accepted != want.accepted {
			t.Errorf("callback = %d, accepted %t, %v; want %d, %t", status, accepted, err, want.status, want.accepted)
		}
	}
	b.work(t)
	if got := b.run(t, runs[0].SubjectID); got.Result != api.RunResultPass {
		t.Errorf("answered run = %+v, want PASS", got)
	}
	if got := b.run(t, runs[1].SubjectID); got.State != api.RunStateRunning {
		t.Errorf("other run = %+v, want it to wait", got)
	}
}

// A validator that the organization calls elsewhere has its own secret, and cannot answer for this one.
func TestReflectedCallIsNoCallback(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	var signature string
	var body []byte
	reflecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signature = r.Header.Get(core.HeaderSignature)
		body, _ = io.ReadAll(r.Body) // An empty body fails below.
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(reflecting.Close)
	b.url = reflecting.URL
	job := b.startHTTP(t, later)
	b.work(t)
	var call outside.Request
	if err := json.Unmarshal(body, &call); err != nil {
		t.Fatal(err)
	}
	status, accepted, err := outside.Send(t.Context(), http.DefaultClient, call.Callback.URL, string(body), signature)
	if err != nil || status != http.StatusUnauthorized || accepted {
		t.Errorf("reflected call = %d, accepted %t, %v; want 401", status, accepted, err)
	}
	if got := b.run(t, job.SubjectID); got.State != api.RunStateRunning {
		t.Errorf("run = %+v, want it to wait", got)
	}
}

func TestCallbackTakesThePreviousSecret(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	b.suspended(t)
	if err := b.executor.cfg.Signing.Rotate(t.Context(), core.Principal{OrgID: b.orgID}); err != nil {
		t.Fatal(err)
	}
	b.wantCallback(t, callback{}, http.StatusOK, true)
}

func TestCallbackTooLate(t *testing.T) {
	t.Parallel()

	t.Run("EndsTheRun", func(t *testing.T) {
		t.Parallel()
		b := setupExternal(t, testConfig())
		job := b.suspended(t)
		b.exec(t, `UPDATE external_calls SET callback_until = now()`)
		b.exec(t, `UPDATE validation_runs SET sweep_after = now()`)
		b.wantCallback(t, callback{}, http.StatusOK, false)
		if n, err := b.executor.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("Sweep = %d, %v, want 1", n, err)
		}
		b.work(t)
		b.wantRun(t, job, ended(api.RunResultTimedOut, api.ErrorCategoryTimeout, 0, 0, 5, 1), "")
		b.wantCallback(t, callback{}, http.StatusOK, false)
		b.wantCalls(t, 1)
	})

	t.Run("ForTheRunsTime", func(t *testing.T) {
		t.Parallel()
		b := setupExternal(t, testConfig())
		b.validator.Script(outside.Promise)
		b.startBounded(t, 60, later)
		b.work(t)
		if left := one[time.Duration](t, b.testBundle,
			`SELECT callback_until - now() FROM external_calls`); left >= 61*time.Second {
			t.Errorf("the run may wait for another %v, want no longer than it may take", left)
		}
	})

	t.Run("AfterItsRunWasCanceled", func(t *testing.T) {
		t.Parallel()
		b := setupExternal(t, testConfig())
		job := b.suspended(t)
		b.exec(t, `UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', ended_at = now(),
			sweep_after = NULL, epoch = epoch + 1`)
		b.wantCallback(t, callback{}, http.StatusOK, false)
		if b.call(t, job).Answer || b.work(t) != 0 {
			t.Error("the callback of a canceled run has an effect")
		}
	})
}

// A run may end after the answer and before its findings are stored. Then the purge of findings removes the answer.
func TestPurgeRemovesAnswersThatWereNotUsed(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.suspended(t)
	b.wantCallback(t, callback{}, http.StatusOK, true)
	b.exec(t, `UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', sweep_after = NULL,
		ended_at = now() - interval '2 hours'`)
	for _, kept := range []time.Duration{3 * time.Hour, time.Hour} {
		if _, err := b.runs.Purge(t.Context(), validations.Retention{Findings: kept}); err != nil {
			t.Fatal(err)
		}
		if got, want := b.call(t, job).Answer, kept > 2*time.Hour; got != want {
			t.Errorf("answer kept = %t where findings are kept for %s, want %t", got, kept, want)
		}
	}
}

func TestCallbacksAtOnce(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.suspended(t)
	call := b.validator.Calls()[0]
	var accepted, passes atomic.Int64
	var senders sync.WaitGroup
	for i := range 16 {
		senders.Go(func() {
			passed := i%2 == 0
			status, won, err := b.callBack(t.Context(), call, callback{answer: outside.AnswerOf(passed)})
			if err != nil || status != http.StatusOK {
				t.Errorf("callback = %d, %v, want 200", status, err)
			}
			if won {
				accepted.Add(1)
			}
			if won && passed {
				passes.Add(1)
			}
		})
	}
	senders.Wait()
	if n := b.work(t); accepted.Load() != 1 || n != 1 {
		t.Errorf("accepted = %d with %d jobs, want 1 with 1", accepted.Load(), n)
	}
	want := api.RunResultFail
	if passes.Load() == 1 {
		want = api.RunResultPass
	}
	if got := b.run(t, job.SubjectID); got.Result != want || got.Epoch != 5 {
		t.Errorf("run = %+v, want %s, as the accepted callback says, under epoch 5", got, want)
	}
}

func TestCallbackAgainstTheEndOfItsTime(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	b.validator.Usually(outside.Promise)
	for range 20 {
		job := b.startHTTP(t, later)
		b.work(t)
		b.exec(t, `WITH call AS (UPDATE external_calls SET callback_until = now() + interval '10 milliseconds'
				WHERE run_id = $1 RETURNING callback_until)
			UPDATE validation_runs SET sweep_after = callback_until FROM call WHERE id = $1`, job.SubjectID)
		calls := b.validator.Calls()
		var accepted atomic.Bool
		var sender sync.WaitGroup
		sender.Go(func() {
			_, won, err := b.callBack(t.Context(), calls[len(calls)-1], callback{})
			if err != nil {
				t.Error(err)
			}
			accepted.Store(won)
		})
		for b.run(t, job.SubjectID).State != api.RunStateCompleted {
			if _, err := b.executor.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.work(t)
		}
		sender.Wait()
		want := api.RunResultTimedOut
		if accepted.Load() {
			want = api.RunResultPass
		}
		if got := b.run(t, job.SubjectID); got.Result != want {
			t.Errorf("run = %+v with accepted = %t, want %s", got, accepted.Load(), want)
		}
	}
}
