package api

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	// plannedAt is how often PostgreSQL plans a prepared statement before it keeps a plan.
	plannedAt = 6
	// crowdRows is how many rows of each kind harbour has when the statements are measured. It is far more than a
	// statement may read.
	crowdRows = 20_000
)

// hotTables are the tables that grow with every start.
func hotTables() []string {
	return []string{
		"idempotency_keys", "key_activity", "submissions", "validation_runs", "staged_jobs", "step_runs", "findings",
		"audit_records", "usage_counters",
	}
}

// TestNoPlanDependsOnStatistics sends requests and runs the loops on large tables. First their plans are made while
// the tables are empty.
func TestNoPlanDependsOnStatistics(t *testing.T) {
	t.Parallel()
	for name, statistics := range map[string]struct {
		// before runs while the tables are empty, and lie when they are full.
		before, lie []string
	}{
		"Young":             {},
		"AnalyzedWhenEmpty": {before: []string{`VACUUM ANALYZE`}},
		"Emptied": {lie: []string{`UPDATE pg_class SET reltuples = 0, relpages = pg_relation_size(oid) / 8192
			WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')`}},
		"EachRowItsOrganization": {lie: []string{`ANALYZE`, `UPDATE pg_statistic SET stadistinct = -1, stakind1 = 0,
			stakind2 = 0, stakind3 = 0 WHERE starelid >= 16384`}},
		"OneValue": {lie: []string{`ANALYZE`, `UPDATE pg_statistic SET stadistinct = 1, stakind1 = 0, stakind2 = 0,
			stakind3 = 0 WHERE starelid >= 16384`}},
		"Restored": {lie: []string{`ANALYZE`, `DELETE FROM pg_statistic WHERE starelid >= 16384`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			for _, table := range hotTables() {
				s.Prepare(t, `ALTER TABLE `+table+` SET (autovacuum_enabled = off)`)
			}
			for _, statement := range statistics.before {
				s.Prepare(t, statement)
			}
			h := hotPath{stage: s}
			for range plannedAt {
				h.run(t)
			}
			s.crowd(t)
			for _, statement := range statistics.lie {
				s.Prepare(t, statement)
			}
			before := s.tableReads(t)
			h.run(t)
			for table, read := range s.tableReads(t) {
				read.whole -= before[table].whole
				read.rows -= before[table].rows
				if read.whole > 0 || read.rows > crowdRows/4 {
					t.Errorf("%s was read from end to end %d times, and %d rows of it by index, want 0 and few",
						table, read.whole, read.rows)
				}
			}
		})
	}
}

// hotPath is everything that starts and the loops do.
type hotPath struct {
	*stage

	rounds int
}

func (h *hotPath) run(tb testing.TB) {
	tb.Helper()
	h.rounds++
	key := fmt.Sprintf("round-%d", h.rounds)
	good := h.Start(tb, key)
	bad := h.Start(tb, key+"-bad")
	bad.Body = fixture.SampleText(tb, "bad/meter-readings.csv")
	first := h.Started(tb, good)
	failed, kept := h.Started(tb, bad), h.Started(tb, bad.With("Idempotency-Key", key+"-kept"))
	h.hand(tb)
	for _, id := range []uuid.UUID{first.ID, failed.ID, kept.ID} {
		job := jobs.Job{Kind: validations.JobExecute, OrgID: h.Harbour.ID, SubjectID: id, Epoch: 1}
		if err := h.Executor.Execute(tb.Context(), job); err != nil {
			tb.Fatal(err)
		}
	}
	h.Must(tb, http.StatusCreated, good)
	changed := good
	changed.Body += "\n"
	h.Do(tb, changed)
	h.Must(tb, http.StatusCreated, h.Rerun(key+"-again", first.ID))
	h.Do(tb, call{Path: validations.RunAddress(failed.ID), Token: h.Harbour.Tokens.Executor})
	h.Do(tb, call{Path: validations.RunAddress(failed.ID) + "findings/", Token: h.Harbour.Tokens.Executor})
	h.Keys(tb, "/api/idempotency-keys/?key="+key)
	h.Flush(tb)
	for _, id := range []uuid.UUID{first.ID, failed.ID} {
		h.Exec(tb, `UPDATE validation_runs SET ended_at = now() - interval '1 day' WHERE org_id = $1 AND id = $2`,
			h.Harbour.ID, id)
	}
	h.Exec(tb, `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now()
		WHERE org_id = $1 AND key = $2`, h.Harbour.ID, key)
	h.loops(tb)
}

// hand moves what is staged to the queue.
func (h *hotPath) hand(tb testing.TB) {
	tb.Helper()
	enqueuer := tasks.NewEnqueuer(h.DB, h.Queue, tasks.EnqueuerConfig{
		Slots: tasks.NewSlots(h.Queue).Count, JobTimeout: time.Hour,
	}, jobs.NewSignal(), fixture.Discard())
	if _, err := enqueuer.RunOnce(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// loops runs the loops that look for what is overdue. The rerun of the round is.
func (h *hotPath) loops(tb testing.TB) {
	tb.Helper()
	h.hand(tb)
	h.Exec(tb, `UPDATE validation_runs SET sweep_after = now() WHERE sweep_after IS NOT NULL`)
	for name, loop := range map[string]func() error{
		"sweep":    func() error { _, err := h.Executor.Sweep(tb.Context()); return err },
		"complete": func() error { _, err := h.Completer.RunOnce(tb.Context()); return err },
		"purge":    func() error { _, err := admin.Purge(tb.Context(), h.DB, 200); return err },
		"retain": func() error {
			_, err := h.Runs.Purge(tb.Context(), validations.Retention{Content: time.Hour, Findings: time.Hour})
			return err
		},
		"outbox": func() error { _, err := tasks.ReadBacklog(tb.Context(), h.DB); return err },
	} {
		if err := loop(); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
	}
	h.hand(tb)
}

// crowd adds rows like those of the last run to harbour, on a connection that reads no table from end to end itself.
func (s *stage) crowd(tb testing.TB) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), s.DB.Pool.Config().ConnString())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(tb.Context()) }() // Nothing is lost with it.
	run := coretest.One[uuid.UUID](tb, s.DB, `SELECT run_id FROM findings WHERE org_id = $1 LIMIT 1`, s.Harbour.ID)
	now := time.Now().Add(-time.Hour)
	if _, err := conn.Exec(tb.Context(), `SET session_replication_role = replica`); err != nil {
		tb.Fatal(err)
	}
	for _, statement := range []string{
		fixture.Multiplied("submissions",
			`one.id = (SELECT submission_id FROM validation_runs WHERE id = $1::uuid)`, ""),
		fixture.Multiplied("validation_runs", `one.id = $1::uuid`,
			`, 'submission_id', `+fixture.IDOfRow+`, 'idempotency_key_id', `+fixture.IDOfRow+
				`, 'created_at', `+fixture.MadeAt),
		fixture.Multiplied("step_runs", `one.run_id = $1::uuid`, `, 'run_id', `+fixture.IDOfRow),
		fixture.Multiplied("findings", `one.run_id = $1::uuid AND one.ordinal = 0`, `, 'run_id', `+fixture.IDOfRow),
		fixture.Multiplied("idempotency_keys", `one.validation_run_id = $1::uuid`, `, 'key', 'history-' || n`),
		fixture.Multiplied("audit_records", `one.action = 'run.start' AND one.target_id = $1::text`, ""),
	} {
		if _, err := conn.Exec(tb.Context(), statement, run.String(), crowdRows, s.Harbour.ID, now); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// tableRead is how often a table was read from end to end, and how many entries of its indexes were read.
type tableRead struct {
	whole, rows int64
}

// tableReads reads what the connections of the pool have counted so far, without ending them and their plans.
func (s *stage) tableReads(tb testing.TB) map[string]tableRead {
	tb.Helper()
	for _, conn := range s.DB.Pool.AcquireAllIdle(tb.Context()) {
		_, err := conn.Exec(tb.Context(), `SELECT pg_stat_force_next_flush()`)
		conn.Release()
		if err != nil {
			tb.Fatal(err)
		}
	}
	rows, err := s.DB.Pool.Query(tb.Context(), `
		SELECT t.relname::text, t.seq_scan, sum(i.idx_tup_read)::bigint
		FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i ON i.relid = t.relid
		GROUP BY t.relname, t.seq_scan`)
	if err != nil {
		tb.Fatal(err)
	}
	reads := make(map[string]tableRead)
	var table string
	var read tableRead
	if _, err := pgx.ForEachRow(rows, []any{&table, &read.whole, &read.rows}, func() error {
		if slices.Contains(hotTables(), table) {
			reads[table] = read
		}
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return reads
}
