package api

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestCancel(t *testing.T) {
	t.Parallel()

	t.Run("EndsARunOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		start := s.Start(t, "to-cancel")
		first := s.Must(t, http.StatusCreated, start)
		run := fixture.Decoded[api.Run](t, first)
		got := s.Must(t, http.StatusOK, s.Cancel(run.ID).With("Request-Id", "req-cancel"))
		canceled := fixture.Decoded[api.Run](t, got)
		if canceled.State != "COMPLETED" || canceled.Result != "CANCELED" || canceled.Status != "CANCELED" ||
			canceled.ErrorCategory != "" || canceled.Steps[0].Status != "SKIPPED" || canceled.EndedAt.IsZero() {
			t.Errorf("canceled run = %+v", canceled)
		}
		again := s.Must(t, http.StatusOK, s.Cancel(run.ID))
		if diff := cmp.Diff(string(got.Body), string(again.Body)); diff != "" {
			t.Errorf("repetition (-first +repetition):\n%s", diff)
		}
		s.Work(t)
		read := s.Must(t, http.StatusOK, start.To(validations.RunAddress(run.ID)).Get())
		if diff := cmp.Diff(string(got.Body), string(read.Body)); diff != "" {
			t.Errorf("run after its job was delivered (-canceled +read):\n%s", diff)
		}
		s.WantAudit(t, "run.cancel", "run", run.ID, "req-cancel", "")
		fixture.WantReplay(t, first, s.Do(t, start))
		if used := coretest.One[int64](t, s.DB, `SELECT used FROM usage_counters`); used != 1 {
			t.Errorf("used = %d, want 1: a canceled run counts", used)
		}
	})

	t.Run("LeavesWhatHasEndedAsItIs", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		run := s.Started(t, s.Start(t, ""))
		s.Work(t)
		before := s.Do(t, s.reading(validations.RunAddress(run.ID)))
		s.Refused(t, api.CodeRunCompleted, s.Cancel(run.ID))
		after := s.Do(t, s.reading(validations.RunAddress(run.ID)))
		if diff := cmp.Diff(string(before.Body), string(after.Body)); diff != "" {
			t.Errorf("run (-before +after):\n%s", diff)
		}
	})
}

func TestCancelWhileTheChargeIsDecided(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	s.billing.Script(outside.FailBefore)
	s.Refused(t, api.CodeUnavailable, s.Start(t, "beyond"))
	reserved := s.Cancel(coretest.One[string](t, s.DB,
		`SELECT id::text FROM validation_runs WHERE sweep_after = 'infinity'`))
	got := s.Do(t, reserved)
	if problem := fixture.WantProblem(t, got, api.CodeRunReserved); !problem.Retryable {
		t.Error("retryable = false, want true")
	}
	fixture.WantHeader(t, got, map[string]string{"Retry-After": "1"})
	wantFirst(t, s.Do(t, s.Start(t, "beyond")))
	s.Must(t, http.StatusOK, reserved)
	s.wantBooks(t, books{Overage: 1, Runs: 1, Staged: 1, Charges: 1})
}
