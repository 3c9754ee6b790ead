package config_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

// rerun is a repetition of a run by harbour's executor, without a key if key is "".
func (s *stage) rerun(key string, runID uuid.UUID) call {
	c := call{method: http.MethodPost, path: validations.RunAddress(runID) + "rerun/", token: s.Harbour.Tokens.Executor}
	if key != "" {
		return c.with("Idempotency-Key", key)
	}
	return c
}

func TestRerun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.started(t, s.start(t, "first").with("X-Filename", "readings.csv"))
	s.work(t)
	// A version that the first run did not have, which must not be used.
	address := "/api/workflows/meter-readings/"
	s.must(t, http.StatusCreated, s.versionOf("", address))
	got := s.must(t, http.StatusCreated, s.rerun("again", first.ID).with("Request-Id", "req-again"))
	run := decoded[validations.RunBody](t, got)

	t.Run("AnswersWithTheNewRun", func(t *testing.T) {
		t.Parallel()
		want := first
		want.ID, want.CreatedAt = run.ID, run.CreatedAt
		want.RerunOf, want.IdempotencyKey = core.Optional(first.ID.String()), "again"
		if diff := cmp.Diff(want, run); diff != "" || run.ID == first.ID {
			t.Errorf("run (-first +rerun):\n%s", diff)
		}
		wantHeader(t, got, map[string]string{
			"Location": validations.RunAddress(run.ID), "Content-Type": "application/json",
			"Idempotency-Key": "again", "Cache-Control": "no-store", "Idempotent-Replayed": "",
		})
	})

	t.Run("LeavesRowsThatReferToEachOther", func(t *testing.T) {
		t.Parallel()
		if !one[bool](t, s, `SELECT r.rerun_of = $2 AND r.submission_id = f.submission_id AND r.request_id = 'req-again'
				AND r.definition_digest = f.definition_digest AND r.usage_metric = 'runs' AND r.source = 'API'
				AND k.endpoint = 'run_rerun' AND k.recovery_point = 'finished' AND k.response_body = $3
			FROM validation_runs AS r
			JOIN idempotency_keys AS k ON k.id = r.idempotency_key_id AND k.validation_run_id = r.id
			JOIN validation_runs AS f ON f.id = r.rerun_of
			WHERE r.id = $1`, run.ID, first.ID, got.body) {
			t.Error("the run, its key and the earlier run do not belong together")
		}
		if !one[bool](t, s, `SELECT org_id = $1 AND target_type = 'run' AND target_id = $2 AND request_id = 'req-again'
				AND actor_id IS NOT NULL AND token_id IS NOT NULL
			FROM audit_records WHERE action = 'run.rerun'`, s.Harbour.ID, run.ID.String()) {
			t.Error("the audit record does not say who repeated the run")
		}
		s.wantRows(t, rowCounts{Keys: 2, Submissions: 1, Runs: 2, Jobs: 1, Audits: 1, Used: 2})
	})
}

func TestRerunIsExecuted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.started(t, s.start(t, ""))
	s.work(t)
	second := s.started(t, s.rerun("", first.ID))
	third := s.started(t, s.rerun("", second.ID).by(s.Harbour.Tokens.Owner))
	s.work(t)
	if string(second.RerunOf) != first.ID.String() || string(third.RerunOf) != second.ID.String() {
		t.Errorf("rerun_of = %s and %s, want %s and %s", second.RerunOf, third.RerunOf, first.ID, second.ID)
	}
	for _, id := range []uuid.UUID{second.ID, third.ID} {
		run := s.shown(t, id)
		if run.Result != validations.ResultPass || run.Submission != first.Submission || run.RerunOf == "" {
			t.Errorf("run = %s of %s repeating %q, want PASS of %s",
				run.Result, run.Submission, run.RerunOf, first.Submission)
		}
	}
	s.wantRows(t, rowCounts{Submissions: 1, Runs: 3, Audits: 1, Used: 3})
}

func TestRerunReplay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, loss string }{
		{"AtOnce", `SELECT 1`},
		{"WithoutQuota", `UPDATE usage_counters SET quota = used`},
		{"OnAnInactiveWorkflow", `UPDATE workflows SET is_active = false`},
		{"WithoutTheDocument", `UPDATE submissions SET content = NULL`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			earlier := s.started(t, s.start(t, ""))
			first := s.must(t, http.StatusCreated, s.rerun("r", earlier.ID))
			s.exec(t, tt.loss)
			before := s.versions(t)
			wantReplay(t, first, s.do(t, s.rerun("r", earlier.ID)))
			wantReplay(t, first, s.do(t, s.rerun(`"r"`, earlier.ID).by(s.Harbour.Tokens.Owner)))
			s.refused(t, core.CodePermissionDenied, s.rerun("r", earlier.ID).by(s.Harbour.Tokens.Viewer))
			if diff := cmp.Diff(before, s.versions(t)); diff != "" {
				t.Errorf("row versions (-before +after):\n%s", diff)
			}
		})
	}

	t.Run("NotOfAnotherRun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		one, other := s.started(t, s.start(t, "")), s.started(t, s.start(t, ""))
		s.started(t, s.rerun("r", one.ID))
		problem := wantProblem(t, s.do(t, s.rerun("r", other.ID)), core.CodeKeyReused)
		if diff := cmp.Diff([]string{"run"}, problem.Differs); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	})
}

func TestRerunRefusals(t *testing.T) {
	t.Parallel()
	s := setup(t)
	kept, gone := s.started(t, s.start(t, "")), s.started(t, s.start(t, ""))
	start := s.start(t, "").to("/api/workflows/building/start/").withBody("application/json", "{}")
	idle := s.started(t, start)
	s.exec(t, `UPDATE submissions SET content = NULL WHERE id = $1`, gone.Submission)
	s.exec(t, `UPDATE workflows SET is_active = false WHERE id = $1`, idle.Workflow)
	tiny := s.Tiny.Tokens.Executor
	var full validations.RunBody
	for range 3 {
		full = s.started(t, s.start(t, "").by(tiny))
	}
	tests := []refusal{
		{"Nobody", s.rerun("", kept.ID).by(""), core.CodeNotAuthenticated, ""},
		{"Viewer", s.rerun("", kept.ID).by(s.Harbour.Tokens.Viewer), core.CodePermissionDenied, "viewer"},
		{"UnknownRun", s.rerun("", uuid.New()), core.CodeNotFound, "run"},
		{"NoID", s.rerun("", kept.ID).to("/api/runs/latest/rerun/"), core.CodeNotFound, "run"},
		{"AnothersRun", s.rerun("", kept.ID).by(tiny), core.CodeNotFound, "run"},
		{"AnothersRunByViewer", s.rerun("", kept.ID).by(s.Tiny.Tokens.Viewer), core.CodeNotFound, "run"},
		{"KeyInvalid", s.rerun(`"`, kept.ID), core.CodeKeyInvalid, "RFC 8941"},
		{"DocumentGone", s.rerun("", gone.ID), core.CodeDocumentGone, "no longer kept"},
		{"RoleBeforeDocument", s.rerun("", gone.ID).by(s.Harbour.Tokens.Viewer), core.CodePermissionDenied, "viewer"},
		{"InactiveWorkflow", s.rerun("", idle.ID), core.CodeWorkflowInactive, "inactive"},
		{"QuotaUsedUp", s.rerun("", full.ID).by(tiny), core.CodeQuotaExceeded, "3 of 3 runs"},
	}
	before, reruns := s.rowCounts(t), `SELECT count(*) FROM audit_records WHERE action = 'run.rerun'`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.call
			if c.header.Values("Idempotency-Key") == nil {
				c = c.with("Idempotency-Key", tt.name)
			}
			problem := wantProblem(t, s.do(t, c), tt.code)
			if !strings.Contains(problem.Detail, tt.detail) || problem.Retryable {
				t.Errorf("problem = %+v, want one that says %q and is not retryable", problem, tt.detail)
			}
			s.wantRows(t, before)
			if n := one[int64](t, s, reruns); n != 0 {
				t.Errorf("audited reruns = %d, want 0", n)
			}
		})
	}
}

func TestRerunAfterARefusalUnderTheSameKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var run validations.RunBody
	for range 3 {
		run = s.started(t, s.start(t, "").by(s.Tiny.Tokens.Executor))
	}
	again := s.rerun("patient", run.ID).by(s.Tiny.Tokens.Executor)
	got := s.do(t, again)
	wantRetryLater(t, got, core.CodeQuotaExceeded, 1, 32*24*60*60)
	wantHeader(t, got, map[string]string{"Idempotency-Key": "patient", "Idempotency-Expires": ""})
	s.exec(t, `UPDATE usage_counters SET quota = 4`)
	first := s.must(t, http.StatusCreated, again)
	wantReplay(t, first, s.do(t, again))
	s.refused(t, core.CodeQuotaExceeded, again.with("Idempotency-Key", "another"))
	s.wantRows(t, rowCounts{Keys: 1, Submissions: 3, Runs: 4, Jobs: 4, Audits: 3, Used: 4})
}

func TestConcurrentReruns(t *testing.T) {
	t.Parallel()
	s := setup(t)
	earlier := s.started(t, s.start(t, ""))
	s.work(t)
	got := s.together(t, slices.Repeat([]call{s.rerun("race", earlier.ID)}, 50))
	final := s.must(t, http.StatusCreated, s.rerun("race", earlier.ID))
	fresh := 0
	for _, answer := range got {
		if answer.status == http.StatusConflict {
			wantRetryLater(t, answer, core.CodeKeyInProgress, 1, 60)
			continue
		}
		if diff := cmp.Diff(string(final.body), string(answer.body)); diff != "" {
			t.Errorf("body (-replayed +got):\n%s", diff)
		}
		if answer.header.Get("Idempotent-Replayed") == "" {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("first answers = %d, want 1", fresh)
	}
	s.wantRows(t, rowCounts{Keys: 1, Submissions: 1, Runs: 2, Jobs: 1, Audits: 1, Used: 2})
}

func TestRerunsAreBoundedAsStartsAre(t *testing.T) {
	t.Parallel()

	t.Run("PerMinute", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) {
			settings.RunsPerMinute, settings.RedisURL = 3, "redis://shared"
		})
		earlier := s.started(t, s.start(t, ""))
		first := s.must(t, http.StatusCreated, s.rerun("r", earlier.ID))
		s.started(t, s.rerun("", earlier.ID))
		for _, key := range []string{"", "another"} {
			wantRetryLater(t, s.do(t, s.rerun(key, earlier.ID)), core.CodeRateLimited, 1, 60)
		}
		wantRetryLater(t, s.do(t, s.start(t, "")), core.CodeRateLimited, 1, 60)
		wantReplay(t, first, s.do(t, s.rerun("r", earlier.ID)))
		s.wantRows(t, rowCounts{Keys: 1, Submissions: 1, Runs: 3, Jobs: 3, Audits: 1, Used: 3})
	})

	t.Run("ByTheQuotaAlsoWhereStartsMayGoBeyond", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		earlier := s.started(t, s.start(t, ""))
		problem := wantRetryLater(t, s.do(t, s.rerun("r", earlier.ID)), core.CodeQuotaExceeded, 1, 32*24*60*60)
		if !strings.Contains(problem.Detail, "A rerun is never charged beyond the quota") || problem.Retryable {
			t.Errorf("problem = %+v, want one that says so and is not retryable", problem)
		}
		s.wantBooks(t, books{Overage: 1, Runs: 1, Staged: 1, Charges: 1})
	})
}
