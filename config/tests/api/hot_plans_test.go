package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
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
		if !allStatistics && name != "Young" && name != "OneValue" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			for _, table := range fixture.HotTables() {
				s.Prepare(t, `ALTER TABLE `+table+` SET (autovacuum_enabled = off)`)
			}
			for _, statement := range statistics.before {
				s.Prepare(t, statement)
			}
			h := hotPath{stage: s}
			for range plannedAt {
				h.run(t)
				h.search(t)
			}
			s.crowd(t)
			for _, statement := range statistics.lie {
				s.Prepare(t, statement)
			}
			s.wantFewReads(t, crowdRows/4, func() { h.run(t) })
			s.crowdOfOthers(t)
			s.wantFewReads(t, crowdRows/4, func() { h.lists(t) })
			// A search looks at the newest runs twice: for where it ends, and for what they contain.
			s.wantFewReads(t, 2*core.MaxScanned+crowdRows/4, func() { h.search(t) })
		})
	}
}

// longAgo is a time of which there is nothing, behind everything that there is.
const longAgo = "?since=2019-01-01T00:00:00Z&until=2020-01-01T00:00:00Z"

// hotPath is everything that starts, the loops and the pages do.
type hotPath struct {
	*stage

	rounds int
	// session is of a member who visits the pages.
	session string
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
	for _, id := range []string{first.ID, failed.ID, kept.ID} {
		h.execute(tb, id)
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
	h.lists(tb)
	h.pages(tb, failed.ID)
	h.Do(tb, good.By(h.Harbour.Tokens.Viewer))
	for _, query := range []string{
		"", "key=" + key, "run=" + first.ID, "status=4xx", "status=5xx", "code=idempotency_key_reused",
		"token=" + uuid.NewString(), "key=" + key + "&status=4xx",
	} {
		h.logged(tb, query)
	}
	for _, id := range []string{first.ID, failed.ID} {
		h.Exec(tb, `UPDATE validation_runs SET started_at = now() - interval '1 day',
			ended_at = now() - interval '1 day' WHERE org_id = $1 AND id = $2`,
			h.Harbour.ID, id)
	}
	h.Exec(tb, `UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now()
		WHERE org_id = $1 AND key = $2`, h.Harbour.ID, key)
	h.loops(tb)
}

// execute executes a run of harbour as a worker does.
func (s *stage) execute(tb testing.TB, run string) {
	tb.Helper()
	job := jobs.Job{Kind: validations.JobExecute, OrgID: s.Harbour.ID, SubjectID: uuid.MustParse(run), Epoch: 1}
	if err := s.Executor.Execute(tb.Context(), job); err != nil {
		tb.Fatal(err)
	}
}

// search looks for a part of a key or of a document's name that no run has, and for a part that no key has.
func (h *hotPath) search(tb testing.TB) {
	tb.Helper()
	h.Do(tb, call{Path: "/api/runs/?q=nowhere", Token: h.Harbour.Tokens.Executor})
	h.Do(tb, call{Path: "/api/idempotency-keys/?q=nowhere", Token: h.Harbour.Tokens.Executor})
}

// lists reads the newest runs and keys, and those that are not finished.
func (h *hotPath) lists(tb testing.TB) {
	tb.Helper()
	token := h.Harbour.Tokens.Owner
	paths := []string{
		"/api/runs/", "/api/runs/?state=PENDING", "/api/runs/?state=RUNNING&workflow=building",
		"/api/runs/?state=PENDING&source=API", "/api/idempotency-keys/", "/api/idempotency-keys/?state=in_progress",
		"/api/idempotency-keys/?state=abandoned", "/api/idempotency-keys/?state=dead", "/api/audit/",
		"/api/idempotency-keys/" + longAgo, "/api/idempotency-keys/" + longAgo + "&state=dead",
		"/api/idempotency-keys/" + longAgo + "&q=nowhere", "/api/audit/" + longAgo, "/api/requests/" + longAgo,
		"/api/requests/" + longAgo + "&status=2xx&key=history-1",
	}
	for _, workflow := range h.Harbour.Workflows {
		paths = append(paths, "/api/runs/?workflow="+workflow.ID.String())
	}
	for _, path := range paths {
		h.Must(tb, http.StatusOK, call{Path: path, Token: token})
	}
}

// pages visits the pages that everybody opens.
func (h *hotPath) pages(tb testing.TB, run string) {
	tb.Helper()
	if h.session == "" {
		h.session = h.Visitor(tb, api.RoleOwner)
	}
	for _, page := range []string{
		"runs/", "runs/?state=PENDING", "runs/" + run + "/", "keys/", "workflows/", "audit/", "members/",
		"runs/?period=month", "requests/?period=7d", "keys/?period=today", "audit/?period=1h",
		"audit/?noun=everything&period=30d", "audit/" + longAgo,
	} {
		h.Visit(tb, http.StatusOK, fixture.Page("/app/orgs/"+h.Harbour.Slug+"/"+page, h.session))
	}
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
		"publish":  func() error { _, err := h.Publisher.RunOnce(tb.Context()); return err },
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

// wantFewReads fails if something reads a large table from end to end, or too many rows of it.
func (s *stage) wantFewReads(tb testing.TB, most int64, do func()) {
	tb.Helper()
	before := s.TableReads(tb)
	do()
	for table, read := range s.TableReads(tb) {
		read.Whole -= before[table].Whole
		read.Rows -= before[table].Rows
		if read.Whole > 0 || read.Rows > most {
			tb.Errorf("%s was read from end to end %d times, and %d rows of it by index, want 0 and %d at most",
				table, read.Whole, read.Rows, most)
		}
	}
}

// crowd adds rows like those of the last run to harbour.
func (s *stage) crowd(tb testing.TB) {
	tb.Helper()
	run := coretest.One[string](tb, s.DB, `SELECT run_id::text FROM findings WHERE org_id = $1 LIMIT 1`, s.Harbour.ID)
	s.Multiply(tb, run, crowdRows, time.Now().Add(-time.Hour), fixture.History()...)
}

// crowdOfOthers adds runs and keys to another organization that are not finished.
func (s *stage) crowdOfOthers(tb testing.TB) {
	tb.Helper()
	run := coretest.One[string](tb, s.DB,
		`SELECT validation_run_id::text FROM idempotency_keys WHERE org_id = $1 LIMIT 1`, s.Harbour.ID)
	other := `, 'org_id', '` + s.Tiny.ID.String() + `'`
	s.Multiply(tb, run, crowdRows, time.Now().Add(-time.Hour),
		fixture.Multiplied("validation_runs", `one.id = $1::uuid`, other+`, 'submission_id', `+fixture.IDOfRow+
			`, 'idempotency_key_id', `+fixture.IDOfRow+`, 'created_at', `+fixture.MadeAt+
			`, 'state', 'PENDING', 'result', 'UNKNOWN', 'error_category', '', 'error_count', 0, 'ended_at', NULL,
				'content_purged_at', NULL, 'findings_purged_at', NULL, 'sweep_after', now() + interval '1 day'`),
		fixture.Multiplied("idempotency_keys", `one.id = (SELECT id FROM idempotency_keys
				WHERE org_id = $3 AND validation_run_id = $1::uuid LIMIT 1)`, other+`, 'key', 'other-' || n,
			'recovery_point', 'started', 'locked_until', now() + interval '1 day', 'response_status', NULL,
			'response_headers', NULL, 'response_body', NULL, 'finished_at', NULL`),
	)
}
