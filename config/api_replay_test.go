package config_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestReplay(t *testing.T) {
	t.Parallel()

	t.Run("RepeatsTheAnswerAndWritesNothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.must(t, http.StatusCreated, s.start(t, "r").with("Request-Id", "the-first"))
		before := s.versions(t)
		for range 10 {
			again := s.do(t, s.start(t, "r"))
			wantReplay(t, first, again)
			wantHeader(t, again, map[string]string{"Idempotency-Key": "r", "Original-Request-Id": "the-first"})
			if id := again.header.Get("Request-Id"); id == "" || id == "the-first" {
				t.Errorf("Request-Id = %q, want one of this request's own", id)
			}
		}
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Errorf("row versions (-before +after):\n%s", diff)
		}
	})

	t.Run("TakesTheQuotedKeyForTheSame", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.must(t, http.StatusCreated, s.start(t, `a "b"`))
		again := s.do(t, s.start(t, `"a \"b\""`))
		wantReplay(t, first, again)
		wantHeader(t, again, map[string]string{"Idempotency-Key": `"a \"b\""`})
	})

	t.Run("NeedsNoQuota", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		call := s.start(t, "q1").by(s.Tiny.Tokens.Executor)
		first := s.must(t, http.StatusCreated, call)
		s.started(t, call.with("Idempotency-Key", "q2"))
		s.started(t, call.with("Idempotency-Key", "q3"))
		s.refused(t, core.CodeQuotaExceeded, call.with("Idempotency-Key", "q4"))
		wantReplay(t, first, s.do(t, call))
		s.wantRows(t, rowCounts{Keys: 3, Submissions: 3, Runs: 3, Jobs: 3, Audits: 3, Used: 3})
	})

	t.Run("NeedsNoActiveWorkflow", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.must(t, http.StatusCreated, s.start(t, "i"))
		s.exec(t, `UPDATE workflows SET is_active = false`)
		s.refused(t, core.CodeWorkflowInactive, s.start(t, "new"))
		wantReplay(t, first, s.do(t, s.start(t, "i")))
	})

	t.Run("SaysPendingWhateverTheRunHasBecome", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.must(t, http.StatusCreated, s.start(t, "e"))
		s.work(t)
		again := s.do(t, s.start(t, "e"))
		wantReplay(t, first, again)
		run := decoded[validations.RunBody](t, s.do(t, s.start(t, "").to(again.header.Get("Location")).get()))
		if run.State != validations.StateCompleted || run.Result != validations.ResultPass {
			t.Errorf("run = %s %s, want COMPLETED PASS", run.State, run.Result)
		}
	})

	t.Run("IgnoresVersionsPublishedSince", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.must(t, http.StatusCreated, s.start(t, "v"))
		s.addVersion(t)
		wantReplay(t, first, s.do(t, s.start(t, "v")))
	})

	t.Run("ServesEveryoneWhoMayStart", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.must(t, http.StatusCreated, s.start(t, "m"))
		wantReplay(t, first, s.do(t, s.start(t, "m").by(s.Harbour.Tokens.Owner)))
	})
}

func TestReplayIsAuthorizedAnew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, loss string
		code       core.Code
	}{
		{"RoleLost", `UPDATE memberships SET role = 'viewer' WHERE role = 'executor'`, core.CodePermissionDenied},
		{"TokensRoleLowered", `UPDATE api_tokens SET role = 'viewer'`, core.CodePermissionDenied},
		{"MembershipLost", `DELETE FROM memberships WHERE role = 'executor'`, core.CodePermissionDenied},
		{"TokenRevoked", `UPDATE api_tokens SET revoked_at = now()`, core.CodeNotAuthenticated},
		{"TokenExpired", `UPDATE api_tokens SET expires_at = now()`, core.CodeNotAuthenticated},
		{"WorkflowGone", `UPDATE workflows SET slug = 'moved' WHERE slug = 'meter-readings'`, core.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			run := s.started(t, s.start(t, "mine"))
			s.exec(t, tt.loss)
			got := s.do(t, s.start(t, "mine"))
			wantProblem(t, got, tt.code)
			if bytes.Contains(got.body, []byte(run.ID.String())) || got.header.Get("Original-Request-Id") != "" {
				t.Errorf("the refusal tells of the run: %v %s", got.header, got.body)
			}
		})
	}
}

func TestReplayKeepsOrganizationsApart(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ours := s.must(t, http.StatusCreated, s.start(t, "shared"))
	theirs := s.must(t, http.StatusCreated, s.start(t, "shared").by(s.Tiny.Tokens.Executor))
	wantHeader(t, theirs, map[string]string{"Idempotent-Replayed": "", "Original-Request-Id": ""})
	if ours.header.Get("Location") == theirs.header.Get("Location") {
		t.Error("two organizations got one run for one key")
	}
}

func TestReplayEndsWithTheKey(t *testing.T) {
	t.Parallel()

	t.Run("OneMomentBeforeExpiry", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.started(t, s.start(t, "x"))
		s.exec(t, `UPDATE idempotency_keys SET expires_at = now() + interval '1 minute'`)
		wantHeader(t, s.must(t, http.StatusCreated, s.start(t, "x")), map[string]string{"Idempotent-Replayed": "true"})
	})

	t.Run("AnExpiredKeyIsANewOne", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.started(t, s.start(t, "x").with("Request-Id", "old").with("User-Agent", "old"))
		s.exec(t, `UPDATE idempotency_keys SET created_at = created_at - interval '25 hours', expires_at = now()`)
		old := s.key(t, "x")
		// Other content under an expired key is no reuse.
		call := s.start(t, "x").with("Request-Id", "new").withBody("text/csv", "a\n1\n")
		call = call.to("/api/workflows/" + s.Harbour.Workflows[1].ID.String() + "/start")
		answer := s.must(t, http.StatusCreated, call.with("User-Agent", "new"))
		second := decoded[validations.RunBody](t, answer)
		wantHeader(t, answer, map[string]string{"Idempotent-Replayed": ""})
		if second.ID == first.ID {
			t.Fatal("the expired key's run was answered")
		}
		s.wantRenewed(t, old, second.ID)
		s.wantRows(t, rowCounts{Keys: 1, Submissions: 2, Runs: 2, Jobs: 2, Audits: 2, Used: 2})
		wantReplay(t, answer, s.do(t, call))
	})

	t.Run("AnUnfinishedKeyNeverExpires", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.started(t, s.start(t, "x"))
		s.exec(t, `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now(),
			locked_until = now() + interval '1 minute', recovery_point = 'reserved', response_status = NULL,
			response_headers = NULL, response_body = NULL`)
		s.refused(t, core.CodeKeyInProgress, s.start(t, "x"))
		s.wantRows(t, rowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}

// keyRow is a key as text, column by column.
type keyRow map[string]string

func (s *stage) key(tb testing.TB, key string) keyRow {
	tb.Helper()
	rows, err := s.db.Pool.Query(tb.Context(), `
		SELECT c.key, coalesce(c.value, '') FROM idempotency_keys AS k, jsonb_each_text(to_jsonb(k)) AS c
		WHERE k.key = $1`, key)
	if err != nil {
		tb.Fatal(err)
	}
	row := keyRow{}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		row[name] = value
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return row
}

// wantRenewed checks that nothing of the old use is left in the row of key x but what both uses have in common.
func (s *stage) wantRenewed(tb testing.TB, old keyRow, runID uuid.UUID) {
	tb.Helper()
	same := map[string]bool{
		"org_id": true, "key": true, "endpoint": true, "request_method": true, "request_ip": true, "epoch": true,
		"fingerprint_version": true, "recovery_point": true, "locked_until": true, "response_status": true,
		// The same workflow without options: only the content is another.
		"target_digest": true, "options_digest": true,
		"retry_at": true, "last_error": true, "attempts": true,
	}
	renewed := s.key(tb, "x")
	for column, value := range renewed {
		if same[column] != (value == old[column]) {
			tb.Errorf("%s was %q and is %q", column, old[column], value)
		}
	}
	if renewed["validation_run_id"] != runID.String() {
		tb.Errorf("validation_run_id = %s, want %s", renewed["validation_run_id"], runID)
	}
	if !one[bool](tb, s, `SELECT expires_at - created_at = interval '24 hours' AND expires_at > now()
		FROM idempotency_keys`) {
		tb.Error("the key does not live for 24 hours from its second first use")
	}
}

// versions tells whether any row of the tables that a start writes was written since: every write changes a row's xmin.
func (s *stage) versions(tb testing.TB) map[string]string {
	tb.Helper()
	versions := map[string]string{}
	for _, table := range []string{
		"idempotency_keys", "submissions", "validation_runs", "staged_jobs", "audit_records", "usage_counters",
		"workflows", "organizations", "memberships", "api_tokens",
	} {
		versions[table] = one[string](tb, s,
			`SELECT coalesce(string_agg(t.ctid || ' ' || t.xmin || ' ' || t.xmax, ',' ORDER BY t.ctid), '')
			FROM `+table+` AS t`)
	}
	return versions
}
