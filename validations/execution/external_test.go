package execution

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	once    = `"idempotent":false`
	hurried = `"attempt_timeout_seconds":1`
)

// Which attempts follow each behavior of a validator is shown by external.TestClientAttempts.
func TestExternalStep(t *testing.T) {
	t.Parallel()
	fine := passed(2)
	failed := ended(api.RunResultFail, api.ErrorCategoryValidationFailed, 1, 1, 2, 1)
	broken := ended(api.RunResultError, api.ErrorCategoryRuntimeError, 0, 0, 2, 1)
	for _, tt := range []struct {
		// behavior is that of the first attempt. Every further attempt is answered.
		behavior outside.Behavior
		config   string
		attempts int
		want     runRow
		text     string
	}{
		{outside.Pass, "", 1, fine, ""},
		{outside.Fail, "", 1, failed, "The document has 1 error."},
		{outside.Fail, `"severities":{"demo.wrong":"WARNING"}`, 1, fine, ""},
		{outside.FailAfter, "", 2, fine, ""},
		{outside.Hang, hurried, 2, fine, ""},
		{outside.Garbage, "", 1, broken, "gave an answer that cannot be used: it is not well-formed JSON."},
		{outside.Refuse, "", 1, broken, "it answered with status 422"},
		{outside.Promise, "", 1, broken, "promised a later answer, which the workflow does not allow"},
		{outside.Pass, once, 1, fine, ""},
		{outside.FailAfter, once, 1, broken, "is not called again"},
		{outside.Hang, once + "," + hurried, 1, broken, "is not called again"},
	} {
		t.Run(string(tt.behavior)+tt.config, func(t *testing.T) {
			t.Parallel()
			b := setupExternal(t, testConfig())
			job := b.startHTTP(t, tt.config)
			b.validator.Script(tt.behavior)
			b.work(t)
			b.wantCalls(t, tt.attempts)
			if diff := cmp.Diff(tt.want, b.run(t, job.SubjectID)); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
			text := one[string](t, b.testBundle, `SELECT error FROM validation_runs`)
			if !strings.Contains(text, tt.text) || tt.want.Result == api.RunResultPass && text != "" {
				t.Errorf("error = %q, want %q in it", text, tt.text)
			}
			if b.call(t, job).Answer {
				t.Error("the answer is kept, want it gone with the run's end")
			}
		})
	}
}

func TestExternalStepKeepsFindings(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	b.startHTTP(t, "")
	b.validator.Script(outside.Fail)
	b.work(t)
	got := one[string](t, b.testBundle, `SELECT severity || ' ' || code || ' ' || path || ' ' || line FROM findings`)
	if want := "ERROR external.demo.wrong /a 1"; got != want {
		t.Errorf("finding = %q, want %q", got, want)
	}
}

func TestExternalStepReachesNoPrivateAddress(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	b.url = strings.Replace(b.url, "127.0.0.1", "0.0.0.0", 1)
	job := b.startHTTP(t, "")
	b.work(t)
	b.wantCalls(t, 0)
	b.wantRun(t, job, ended(api.RunResultError, api.ErrorCategoryRuntimeError, 0, 0, 2, 1), "")
	text := one[string](t, b.testBundle, `SELECT error FROM validation_runs`)
	if !strings.Contains(text, "or its address is not public") || strings.Contains(text, "0.0.0.0") {
		t.Errorf("error = %q, want that the address is not public, without the address", text)
	}
}

func TestExternalStepTimesOut(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	b.validator.Usually(outside.Hang)
	job := b.startBounded(t, 1, "")
	b.work(t)
	b.wantCalls(t, 1)
	b.wantRun(t, job, ended(api.RunResultTimedOut, api.ErrorCategoryTimeout, 0, 0, 2, 1), "")
}

// held starts a run with one http step, which the returned holder executes.
func (b externalBundle) held(tb testing.TB) (jobs.Job, validations.Run) {
	tb.Helper()
	job := b.startHTTP(tb, later)
	b.exec(tb, `UPDATE validation_runs SET state = 'RUNNING', epoch = 2, attempts = 2, started_at = now(),
		lease_until = now() + interval '1 hour', sweep_after = now() + interval '1 hour'`)
	return job, validations.Run{OrgID: job.OrgID, ID: job.SubjectID, Epoch: 2, Attempts: 2}
}

// An answer that comes just before its run is given up counts, and one that comes just after does not, whatever was
// read before.
func TestAnswersInTheLastMoment(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job, holder := b.held(t)
	call, err := b.executor.beginCall(t.Context(), holder, 0)
	if err != nil {
		t.Fatal(err)
	}
	if first, err := b.executor.recordAnswer(t.Context(), call, []byte(outside.AnswerOf(true))); !first || err != nil {
		t.Fatalf("first answer = %t, %v", first, err)
	}
	end := noVerdict(api.ErrorCategoryTimeout, "It took too long.")
	if ended, err := b.executor.failCall(t.Context(), holder, call, end); ended || err != nil {
		t.Errorf("ended = %t, %v, want the answer used", ended, err)
	}
	b.exec(t, `UPDATE external_calls SET state = 'CALLING', answer = NULL, answered_at = NULL`)
	if ended, err := b.executor.failCall(t.Context(), holder, call, end); !ended || err != nil {
		t.Errorf("ended = %t, %v, want the run given up", ended, err)
	}
	b.exec(t, `UPDATE external_calls SET state = 'CALLING'`)
	if claimed, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (bool, error) {
		return claimReceipt(t.Context(), tx, call, []byte(outside.AnswerOf(true)))
	}); claimed || err != nil || b.call(t, job).Answer {
		t.Errorf("the answer to a run that has ended = %t, %v, want it refused", claimed, err)
	}
}

// A holder whose lease was taken over neither calls the validator nor parks the run of its successor.
func TestAStaleHolderMakesNoCalls(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job, holder := b.held(t)
	stale := holder
	stale.Epoch = 1
	if _, err := b.executor.beginCall(t.Context(), stale, 0); !errors.Is(err, errLeaseLost) {
		t.Errorf("begin a call = %v, want %v", err, errLeaseLost)
	}
	call, err := b.executor.beginCall(t.Context(), holder, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := b.run(t, job.SubjectID)
	if _, err := b.executor.suspendRun(t.Context(), stale, call, time.Hour); !errors.Is(err, errLeaseLost) {
		t.Errorf("suspend = %v, want %v", err, errLeaseLost)
	}
	if diff := cmp.Diff(before, b.run(t, job.SubjectID)); diff != "" || b.call(t, job).State != callCalling {
		t.Errorf("call = %s, run (-want +got):\n%s", b.call(t, job).State, diff)
	}
}

// The holder crashes during the call, and another worker takes the run over.
func TestExternalStepAfterACrash(t *testing.T) {
	t.Parallel()
	for moment, acted := range map[outside.Moment]bool{outside.Received: false, outside.Acted: true} {
		for config, result := range map[string]api.RunResult{
			"":   api.RunResultPass,
			once: api.RunResultError,
		} {
			t.Run(string(moment)+config, func(t *testing.T) {
				t.Parallel()
				b := setupExternal(t, testConfig())
				job := b.startHTTP(t, config)
				ctx, crash := context.WithCancel(t.Context())
				crashed := make(chan struct{})
				var first atomic.Bool
				b.validator.Watch(func(now outside.Moment, _ outside.Request) {
					if now == moment && !first.Swap(true) {
						crash()
						<-crashed
					}
				})
				if !acted {
					b.validator.Script(outside.DropBefore)
				}
				if err := b.executor.Execute(ctx, job); err != nil {
					t.Fatal(err)
				}
				close(crashed)
				b.takeOver(t, job)
				b.work(t)
				attempts := 2
				if result == api.RunResultError {
					attempts = 1
				}
				b.wantCalls(t, attempts)
				if got := b.run(t, job.SubjectID); got.Result != result || got.Leased || got.Swept {
					t.Errorf("run = %+v, want %s", got, result)
				}
			})
		}
	}
}

// A recorded answer counts even if its findings were not stored yet.
func TestExternalStepUsesTheRecordedAnswer(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"", once} {
		t.Run("config"+config, func(t *testing.T) {
			t.Parallel()
			b := setupExternal(t, testConfig())
			job := b.startHTTP(t, config)
			b.validator.Script(outside.Fail)
			var first atomic.Bool
			b.validator.Watch(func(moment outside.Moment, _ outside.Request) {
				if moment == outside.Acted && !first.Swap(true) {
					b.takeOver(t, job)
				}
			})
			b.execute(t, job)
			if got := b.run(t, job.SubjectID); got.State != api.RunStateRunning || got.Epoch != 3 {
				t.Errorf("run after the stale holder = %+v, want it running under epoch 3", got)
			}
			if got := b.call(t, job); got.State != callAnswered || !got.Answer {
				t.Errorf("call = %+v, want it answered", got)
			}
			b.validator.Usually(outside.Pass)
			if n := b.work(t); n != 1 {
				t.Errorf("staged = %d, want 1", n)
			}
			b.wantCalls(t, 1)
			b.wantRun(t, job, ended(api.RunResultFail, api.ErrorCategoryValidationFailed, 1, 1, 4, 2), "0 FAILED")
		})
	}
}

func TestExternalStepContradiction(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	job := b.startHTTP(t, `"callback_timeout_seconds":60`)
	// The promise is lost after the callback. The retry gets another answer at once.
	b.validator.Script(outside.DropAfter, outside.Fail)
	var calledBack atomic.Bool
	b.validator.Watch(func(moment outside.Moment, _ outside.Request) {
		if moment == outside.Acted && !calledBack.Swap(true) {
			b.wantCallback(t, callback{answer: outside.AnswerOf(false)}, 200, true)
		}
	})
	b.work(t)
	b.wantCalls(t, 2)
	b.wantRun(t, job, ended(api.RunResultFail, api.ErrorCategoryValidationFailed, 1, 1, 2, 1), "0 FAILED")
}

// A validator that does not have the new secret yet accepts calls by the previous one.
func TestCallsAreSignedWithThePreviousSecretToo(t *testing.T) {
	t.Parallel()
	b := setupExternal(t, testConfig())
	if err := b.executor.cfg.Signing.Rotate(t.Context(), core.Principal{OrgID: b.orgID}); err != nil {
		t.Fatal(err)
	}
	b.startHTTP(t, "")
	b.work(t)
	b.wantCalls(t, 1)
}
