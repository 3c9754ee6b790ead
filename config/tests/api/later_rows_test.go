package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

// fewBlocks is less than half of the index blocks that the later runs of the organization have, and more than an action
// on a single run needs.
const fewBlocks = 60

// later is when the last of the later runs was started.
const later = 301 * 24 * time.Hour

// TestLaterRunsAreNotRead acts on runs of an organization that has started 20,000 others since. The counts of index
// entries do not show whether a statement goes on to the last of them: an entry that it passes over is not counted. The
// blocks are.
func TestLaterRunsAreNotRead(t *testing.T) {
	t.Parallel()
	s := setup(t)
	bad := s.Start(t, "bad")
	bad.Body = fixture.SampleText(t, "bad/meter-readings.csv")
	model, failed := s.Started(t, s.Start(t, "model")), s.Started(t, bad)
	pending, again := s.Started(t, s.Start(t, "pending")), s.Started(t, s.Start(t, "again"))
	s.execute(t, failed.ID)
	s.execute(t, again.ID)
	s.FlushRequests(t)
	s.Multiply(t, failed.ID, crowdRows, time.Now().Add(later), fixture.History()...)
	s.Exec(t, `UPDATE validation_runs SET content_purged_at = now(), findings_purged_at = now(), sweep_after = NULL
		WHERE org_id = $1 AND created_at > now() + interval '1 hour'`, s.Harbour.ID)
	for _, table := range append(fixture.HotTables(), "external_calls") {
		s.Exec(t, `VACUUM `+table)
	}

	s.wantFewBlocks(t, "execute", func() { s.execute(t, pending.ID) })
	s.wantFewBlocks(t, "run again", func() { s.Must(t, http.StatusCreated, s.Rerun("rerun", again.ID)) })
	s.wantFewBlocks(t, "find", func() {
		ids := []uuid.UUID{uuid.MustParse(model.ID), uuid.MustParse(failed.ID)}
		found, err := s.Runs.FindAll(t.Context(), s.Harbour.ID, ids)
		if err != nil || len(found) != 2 {
			t.Errorf("found = %d runs, %v, want 2", len(found), err)
		}
	})
	s.wantFewBlocks(t, "search", func() {
		page := fixture.Decoded[runPage](t, s.Must(t, http.StatusOK, call{
			Path:  "/api/runs/?q=again&until=" + at(time.Hour),
			Token: s.Harbour.Tokens.Executor,
		}))
		if len(page.Results) == 0 {
			t.Error("search found nothing, want the run")
		}
	})
	workflow := s.Harbour.Workflows[1].ID.String()
	for name, span := range map[string]string{
		"the runs of a workflow before a time": "until=" + at(time.Hour),
		"the newest runs of a workflow":        "since=" + at(later-3*time.Hour),
	} {
		s.wantFewBlocks(t, name, func() {
			page := fixture.Decoded[runPage](t, s.Must(t, http.StatusOK, call{
				Path: "/api/runs/?page_size=50&workflow=" + workflow + "&" + span, Token: s.Harbour.Tokens.Executor,
			}))
			if n := len(page.Results); n == 0 || n == 50 {
				t.Errorf("%s = %d, want all in the first page", name, n)
			}
		})
	}
	s.crowdOfRefusals(t)
	for _, filter := range []string{"status=4xx", "code=idempotency_key_reused", "key=bad", "key=bad&status=4xx"} {
		s.wantFewBlocks(t, "requests by "+filter, func() {
			s.Must(t, http.StatusOK, call{Path: "/api/requests/?" + filter, Token: s.Tiny.Tokens.Owner})
		})
	}
	s.Exec(t, `UPDATE validation_runs SET started_at = now() - interval '1 day', ended_at = now() - interval '1 day'
		WHERE org_id = $1 AND id = $2`, s.Harbour.ID, failed.ID)
	s.wantFewBlocks(t, "purge", func() {
		n, err := s.Runs.Purge(t.Context(), validations.Retention{Content: time.Hour, Findings: time.Hour})
		if err != nil || n.Contents == 0 || n.Findings == 0 {
			t.Errorf("purged = %+v, %v, want the run", n, err)
		}
	})
}

// crowdOfRefusals makes the requests of harbour refusals of one key, of an organization before all others.
func (s *stage) crowdOfRefusals(tb testing.TB) {
	tb.Helper()
	s.Exec(tb, `UPDATE request_log SET status = 422, code = 'idempotency_key_reused', key = 'bad', run_id = NULL,
		org_id = '00000000-0000-7000-8000-000000000000' WHERE org_id = $1`, s.Harbour.ID)
	if n := coretest.One[int](tb, s.DB, `SELECT count(*) FROM request_log WHERE status = 422`); n < crowdRows {
		tb.Fatalf("refusals = %d, want %d at least", n, crowdRows)
	}
}

// at is a time relative to now, as parameters of lists have it.
func at(after time.Duration) string { return time.Now().Add(after).UTC().Format(time.RFC3339) }

// wantFewBlocks fails if an action reads more than a few blocks of the indexes of a table.
func (s *stage) wantFewBlocks(tb testing.TB, name string, do func()) {
	tb.Helper()
	before := s.indexBlocks(tb)
	do()
	for table, blocks := range s.indexBlocks(tb) {
		if blocks -= before[table]; blocks > fewBlocks {
			tb.Errorf("%s: %d index blocks of %s were read, want %d at most", name, blocks, table, fewBlocks)
		}
	}
}

// indexBlocks is how many blocks of its indexes were read for each table.
func (s *stage) indexBlocks(tb testing.TB) map[string]int64 {
	tb.Helper()
	s.FlushCounts(tb)
	rows, err := s.DB.Pool.Query(tb.Context(), `SELECT relname::text, sum(idx_blks_read + idx_blks_hit)::bigint
		FROM pg_statio_user_indexes GROUP BY relname`)
	if err != nil {
		tb.Fatal(err)
	}
	read := make(map[string]int64)
	var table string
	var blocks int64
	if _, err := pgx.ForEachRow(rows, []any{&table, &blocks}, func() error {
		read[table] = blocks
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return read
}
