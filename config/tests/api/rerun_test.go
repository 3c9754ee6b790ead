package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestRerun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.Started(t, s.Start(t, "first").With("X-Filename", "readings.csv"))
	s.Work(t)
	// A version that the first run did not have, which must not be used.
	address := "/api/workflows/meter-readings/"
	s.Must(t, http.StatusCreated, s.versionOf("", address))
	got := s.Must(t, http.StatusCreated, s.Rerun("again", first.ID).With("Request-Id", "req-again"))
	run := fixture.Decoded[api.Run](t, got)

	t.Run("AnswersWithTheNewRun", func(t *testing.T) {
		t.Parallel()
		want := first
		want.ID, want.CreatedAt = run.ID, run.CreatedAt
		want.RerunOf, want.IdempotencyKey = api.Optional(first.ID), "again"
		if diff := cmp.Diff(want, run); diff != "" || run.ID == first.ID {
			t.Errorf("run (-first +rerun):\n%s", diff)
		}
		fixture.WantHeader(t, got, map[string]string{
			"Location": validations.RunAddress(run.ID), "Content-Type": "application/json",
			"Idempotency-Key": "again", "Cache-Control": "no-store", "Idempotent-Replayed": "",
		})
	})

	t.Run("LeavesRowsThatReferToEachOther", func(t *testing.T) {
		t.Parallel()
		coretest.WantRow(t, s.DB, coretest.Row{
			"rerun_of": first.ID, "same_submission": "t", "request_id": "req-again", "same_definition": "t",
			"usage_metric": "runs", "source": "API", "endpoint": "run_rerun", "recovery_point": "finished",
			"body": string(got.Body),
		}, `SELECT r.rerun_of, r.submission_id = f.submission_id AS same_submission, r.request_id,
				r.definition_digest = f.definition_digest AS same_definition, r.usage_metric, r.source,
				k.endpoint, k.recovery_point, convert_from(k.response_body, 'UTF8') AS body
			FROM validation_runs AS r
			JOIN idempotency_keys AS k ON k.id = r.idempotency_key_id AND k.validation_run_id = r.id
			JOIN validation_runs AS f ON f.id = r.rerun_of
			WHERE r.id = $1`, run.ID)
		s.WantAudit(t, "run.rerun", "run", run.ID, "req-again", "")
		s.wantRows(t, fixture.RowCounts{Keys: 2, Submissions: 1, Runs: 2, Jobs: 1, Audits: 1, Used: 2})
	})
}

func TestRerunIsExecuted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.Started(t, s.Start(t, ""))
	s.Work(t)
	second := s.Started(t, s.Rerun("", first.ID))
	third := s.Started(t, s.Rerun("", second.ID).By(s.Harbour.Tokens.Owner))
	s.Work(t)
	if string(second.RerunOf) != first.ID || string(third.RerunOf) != second.ID {
		t.Errorf("rerun_of = %s and %s, want %s and %s", second.RerunOf, third.RerunOf, first.ID, second.ID)
	}
	for _, id := range []string{second.ID, third.ID} {
		run := s.shown(t, id)
		if run.Result != api.RunResultPass || run.Submission != first.Submission || run.RerunOf == "" {
			t.Errorf("run = %s of %s repeating %q, want PASS of %s",
				run.Result, run.Submission, run.RerunOf, first.Submission)
		}
	}
	s.wantRows(t, fixture.RowCounts{Submissions: 1, Runs: 3, Audits: 1, Used: 3})
}

func TestRerunReplay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, loss string }{
		{"WithoutQuota", `UPDATE usage_counters SET quota = used`},
		{"OnAnInactiveWorkflow", `UPDATE workflows SET is_active = false`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			earlier := s.Started(t, s.Start(t, ""))
			first := s.Must(t, http.StatusCreated, s.Rerun("r", earlier.ID))
			s.Exec(t, tt.loss)
			before := s.versions(t)
			fixture.WantReplay(t, first, s.Do(t, s.Rerun("r", earlier.ID)))
			fixture.WantReplay(t, first, s.Do(t, s.Rerun(`"r"`, earlier.ID).By(s.Harbour.Tokens.Owner)))
			s.Refused(t, api.CodePermissionDenied, s.Rerun("r", earlier.ID).By(s.Harbour.Tokens.Viewer))
			if diff := cmp.Diff(before, s.versions(t)); diff != "" {
				t.Errorf("row versions (-before +after):\n%s", diff)
			}
		})
	}
}

func TestRerunRefusals(t *testing.T) {
	t.Parallel()
	s := setup(t)
	kept, gone := s.Started(t, s.Start(t, "")), s.Started(t, s.Start(t, ""))
	start := s.Start(t, "").To("/api/workflows/building/start/").WithBody("application/json", "{}")
	idle := s.Started(t, start)
	s.Exec(t, `UPDATE submissions SET content = NULL WHERE id = $1`, gone.Submission)
	s.Exec(t, `UPDATE workflows SET is_active = false WHERE id = $1`, idle.Workflow)
	tiny := s.Tiny.Tokens.Executor
	var full api.Run
	for range 3 {
		full = s.Started(t, s.Start(t, "").By(tiny))
	}
	tests := []refusal{
		{"NoID", s.Rerun("", kept.ID).To("/api/runs/latest/rerun/"), api.CodeNotFound, "run"},
		{"DocumentGone", s.Rerun("", gone.ID), api.CodeDocumentGone, "no longer kept"},
		{"RoleBeforeDocument", s.Rerun("", gone.ID).By(s.Harbour.Tokens.Viewer), api.CodePermissionDenied, "viewer"},
		{"InactiveWorkflow", s.Rerun("", idle.ID), api.CodeWorkflowInactive, "inactive"},
		{"QuotaUsedUp", s.Rerun("", full.ID).By(tiny), api.CodeQuotaExceeded, "3 of 3 runs"},
	}
	s.wantRefusals(t, tests, func(tb testing.TB) string {
		tb.Helper()
		reruns := coretest.One[int64](tb, s.DB, `SELECT count(*) FROM audit_records WHERE action = 'run.rerun'`)
		return fmt.Sprintf("%s and %d audited reruns", s.rows(tb), reruns)
	})
}

func TestRerunsAreBoundedAsStartsAre(t *testing.T) {
	t.Parallel()

	t.Run("PerMinute", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) {
			settings.RunsPerMinute, settings.RedisURL = 3, "redis://shared"
		})
		earlier := s.Started(t, s.Start(t, ""))
		first := s.Must(t, http.StatusCreated, s.Rerun("r", earlier.ID))
		s.Started(t, s.Rerun("", earlier.ID))
		for _, key := range []string{"", "another"} {
			wantRetryLater(t, s.Do(t, s.Rerun(key, earlier.ID)), api.CodeRateLimited, 60)
		}
		wantRetryLater(t, s.Do(t, s.Start(t, "")), api.CodeRateLimited, 60)
		fixture.WantReplay(t, first, s.Do(t, s.Rerun("r", earlier.ID)))
		s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 3, Jobs: 3, Audits: 1, Used: 3})
	})

	t.Run("ByTheQuotaAlsoWhereStartsMayGoBeyond", func(t *testing.T) {
		t.Parallel()
		s := setupOverage(t)
		earlier := s.Started(t, s.Start(t, ""))
		problem := wantRetryLater(t, s.Do(t, s.Rerun("r", earlier.ID)), api.CodeQuotaExceeded, 32*24*60*60)
		if !strings.Contains(problem.Detail, "A rerun is never charged beyond the quota") || problem.Retryable {
			t.Errorf("problem = %+v, want one that says so and is not retryable", problem)
		}
		s.wantBooks(t, books{Overage: 1, Runs: 1, Staged: 1, Charges: 1})
	})
}
