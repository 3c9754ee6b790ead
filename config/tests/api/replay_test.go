package api

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestReplayWritesNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.Must(t, http.StatusCreated, s.Start(t, "r"))
	before := s.versions(t)
	fixture.WantReplay(t, first, s.Do(t, s.Start(t, "r")))
	if diff := cmp.Diff(before, s.versions(t)); diff != "" {
		t.Errorf("row versions (-before +after):\n%s", diff)
	}
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
