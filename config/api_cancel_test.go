package config_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/validations"
)

// cancel is the cancellation of a run by harbour's executor.
func (s *stage) cancel(runID uuid.UUID) call {
	return call{
		method: http.MethodPost, path: validations.RunAddress(runID) + "cancel/", token: s.Harbour.Tokens.Executor,
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := setup(t)

	t.Run("EndsARunOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		start := s.start(t, "to-cancel")
		first := s.must(t, http.StatusCreated, start)
		run := decoded[validations.RunBody](t, first)
		got := s.must(t, http.StatusOK, s.cancel(run.ID).with("Request-Id", "req-cancel"))
		canceled := decoded[validations.RunBody](t, got)
		if canceled.State != "COMPLETED" || canceled.Result != "CANCELED" || canceled.Status != "CANCELED" ||
			canceled.ErrorCategory != "" || canceled.Steps[0].Status != "SKIPPED" || canceled.EndedAt == "" {
			t.Errorf("canceled run = %+v", canceled)
		}
		again := s.must(t, http.StatusOK, s.cancel(run.ID))
		if diff := cmp.Diff(string(got.body), string(again.body)); diff != "" {
			t.Errorf("repetition (-first +repetition):\n%s", diff)
		}
		s.work(t)
		read := s.must(t, http.StatusOK, start.to(validations.RunAddress(run.ID)).get())
		if diff := cmp.Diff(string(got.body), string(read.body)); diff != "" {
			t.Errorf("run after its job was delivered (-canceled +read):\n%s", diff)
		}
		if !one[bool](t, s, `SELECT count(*) = 1 AND bool_and(actor_id IS NOT NULL AND token_id IS NOT NULL
			AND target_id = $1 AND request_id = 'req-cancel') FROM audit_records WHERE action = 'run.cancel'`,
			run.ID.String()) {
			t.Error("the audit records do not say once who canceled the run")
		}
		wantReplay(t, first, s.do(t, start))
		if used := one[int64](t, s, `SELECT used FROM usage_counters`); used != 1 {
			t.Errorf("used = %d, want 1: a canceled run counts", used)
		}
	})

	t.Run("LeavesWhatHasEndedAsItIs", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		run := s.started(t, s.start(t, ""))
		s.work(t)
		before := s.do(t, call{path: validations.RunAddress(run.ID), token: s.Harbour.Tokens.Viewer})
		s.refused(t, core.CodeRunCompleted, s.cancel(run.ID))
		after := s.do(t, call{path: validations.RunAddress(run.ID), token: s.Harbour.Tokens.Viewer})
		if diff := cmp.Diff(string(before.body), string(after.body)); diff != "" {
			t.Errorf("run (-before +after):\n%s", diff)
		}
	})

	t.Run("KnowsOnlyRuns", func(t *testing.T) {
		t.Parallel()
		s.refused(t, core.CodeNotFound, s.cancel(uuid.MustParse(unknownID)))
		s.refused(t, core.CodeNotFound, s.cancel(uuid.Nil).to("/api/runs/nonsense/cancel/"))
	})
}

func TestCancelWhileTheChargeIsDecided(t *testing.T) {
	t.Parallel()
	s := setupOverage(t)
	s.billing.Script(billing.FailBefore)
	s.refused(t, core.CodeUnavailable, s.start(t, "beyond"))
	reserved := s.cancel(one[uuid.UUID](t, s.stage, `SELECT id FROM validation_runs WHERE sweep_after = 'infinity'`))
	got := s.do(t, reserved)
	if problem := wantProblem(t, got, core.CodeRunReserved); !problem.Retryable {
		t.Error("retryable = false, want true")
	}
	wantHeader(t, got, map[string]string{"Retry-After": "1"})
	wantFirst(t, s.do(t, s.start(t, "beyond")))
	s.must(t, http.StatusOK, reserved)
	s.wantBooks(t, books{Overage: 1, Runs: 1, Staged: 1, Charges: 1})
}
