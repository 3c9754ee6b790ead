package api

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestReplay(t *testing.T) {
	t.Parallel()

	t.Run("RepeatsTheAnswerAndWritesNothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.Must(t, http.StatusCreated, s.Start(t, "r").With("Request-Id", "the-first"))
		before := s.versions(t)
		for range 10 {
			again := s.Do(t, s.Start(t, "r"))
			fixture.WantReplay(t, first, again)
			fixture.WantHeader(t, again, map[string]string{"Idempotency-Key": "r", "Original-Request-Id": "the-first"})
			if id := again.Header.Get("Request-Id"); id == "" || id == "the-first" {
				t.Errorf("Request-Id = %q, want one of this request's own", id)
			}
		}
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Errorf("row versions (-before +after):\n%s", diff)
		}
	})
}

func TestReplayIsAuthorizedAnew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, loss string
		code       core.Code
	}{
		{"TokensRoleLowered", `UPDATE api_tokens SET role = 'viewer'`, core.CodePermissionDenied},
		{"WorkflowGone", `UPDATE workflows SET slug = 'moved' WHERE slug = 'meter-readings'`, core.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			run := s.Started(t, s.Start(t, "mine"))
			s.Exec(t, tt.loss)
			got := s.Do(t, s.Start(t, "mine"))
			fixture.WantProblem(t, got, tt.code)
			if bytes.Contains(got.Body, []byte(run.ID.String())) || got.Header.Get("Original-Request-Id") != "" {
				t.Errorf("the refusal tells of the run: %v %s", got.Header, got.Body)
			}
		})
	}
}

func TestReplayEndsWithTheKey(t *testing.T) {
	t.Parallel()

	t.Run("AnExpiredKeyIsANewOne", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.Started(t, s.Start(t, "x").With("Request-Id", "old").With("User-Agent", "old"))
		s.Exec(t, `UPDATE idempotency_keys SET created_at = created_at - interval '25 hours', expires_at = now()`)
		old := s.key(t, "x")
		// Other content under an expired key is no reuse.
		call := s.Start(t, "x").With("Request-Id", "new").WithBody("text/csv", "a\n1\n")
		call = call.To("/api/workflows/" + s.Harbour.Workflows[1].ID.String() + "/start")
		answer := s.Must(t, http.StatusCreated, call.With("User-Agent", "new"))
		second := fixture.Decoded[validations.RunBody](t, answer)
		fixture.WantHeader(t, answer, map[string]string{"Idempotent-Replayed": ""})
		if second.ID == first.ID {
			t.Fatal("the expired key's run was answered")
		}
		s.wantRenewed(t, old, second.ID)
		s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 2, Runs: 2, Jobs: 2, Audits: 2, Used: 2})
		fixture.WantReplay(t, answer, s.Do(t, call))
	})

	t.Run("AnUnfinishedKeyNeverExpires", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Started(t, s.Start(t, "x"))
		s.Exec(t, `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now(),
			locked_until = now() + interval '1 minute', recovery_point = 'reserved', response_status = NULL,
			response_headers = NULL, response_body = NULL`)
		s.Refused(t, core.CodeKeyInProgress, s.Start(t, "x"))
		s.wantRows(t, fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1})
	})
}

// keyRow is a key as text, column by column.
type keyRow map[string]string

func (s *stage) key(tb testing.TB, key string) keyRow {
	tb.Helper()
	rows, err := s.DB.Pool.Query(tb.Context(), `
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
	coretest.WantRow(tb, s.DB, coretest.Row{"lifetime": "1 day", "lives": "t"},
		`SELECT expires_at - created_at AS lifetime, expires_at > now() AS lives FROM idempotency_keys`)
}

// versions reports whether any row of the tables that a start writes was written since: every write changes a row's
// xmin.
func (s *stage) versions(tb testing.TB) map[string]string {
	tb.Helper()
	versions := map[string]string{}
	for _, table := range []string{
		"idempotency_keys", "submissions", "validation_runs", "staged_jobs", "audit_records", "usage_counters",
		"workflows", "organizations", "memberships", "api_tokens",
	} {
		versions[table] = coretest.One[string](tb, s.DB,
			`SELECT coalesce(string_agg(t.ctid || ' ' || t.xmin || ' ' || t.xmax, ',' ORDER BY t.ctid), '')
			FROM `+table+` AS t`)
	}
	return versions
}
