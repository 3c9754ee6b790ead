package chaos

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestMoveOrganizationUnderLoad moves an organization from one installation to another while clients start runs in it,
// until it is suspended, and in other organizations of both. The import is killed at one table after the other, and
// before and after its last commit. Afterwards the new installation gives the answers of the old one.
func TestMoveOrganizationUnderLoad(t *testing.T) {
	t.Parallel()
	from, to := program.Install(t), program.Install(t)
	before, after := program.Serve(t, from.Settings), program.Serve(t, to.Settings)
	// The new installation has never heard of the organization and its members.
	suspend(t, to)
	program.Execute(t, to.Settings, "", "org", "delete", to.Harbour.Slug)
	program.Change(t, to.DB, "DELETE FROM users WHERE id NOT IN (SELECT user_id FROM memberships)")
	steady := map[*program.Installation]*program.Load{}
	for i, s := range map[*program.Installation]*program.Server{from: before, to: after} {
		program.Execute(t, i.Settings, "", "org", "set", i.Tiny.Slug, "--runs", "1000000")
		steady[i] = program.StartLoad(t, i.Tiny.Tokens.Executor, s.URL)
	}
	l := startLeaving(t, from.Harbour.Tokens.Executor, before.URL)
	l.awaitProgress(t, 2*mostLife)
	for range 3 {
		checkCopy(t, program.Execute(t, from.Settings, "", "org", "export", from.Harbour.Slug, "--live"))
	}
	l.become(isSuspended, func() { suspend(t, from) })
	l.awaitRefusals(t, leastLife)
	l.finish(t)

	importKilled(t, from, to, exportKilled(t, from, l))
	program.Execute(t, to.Settings, "", resuming(from)...)
	for i, load := range steady {
		load.Finish(t)
		program.AwaitRest(t, i.DB)
		load.History.Check(t, i.DB, i.Tiny.ID)
	}
	wantSameRows(t, from, to)
	l.history.Check(t, to.DB, from.Harbour.ID)
	program.CheckInvariants(t, to.DB)
	again := program.NewClient(t, from.Harbour.Tokens.Executor)
	o := program.Building(t, "leaving-0-0-0")
	stored := again.Start(t, after.URL(), o)
	if err := l.history.Note(o.Key, stored); err != nil || !stored.Replayed() {
		t.Errorf("replay in the new installation = %d %s (%v), want the answer of the old one", stored.Status,
			stored.Body, err)
	}
	program.WantCreated(t, again.Start(t, after.URL(), program.Building(t, "moved")))
	program.CheckAtRest(t, to.DB)
}

func suspend(tb testing.TB, i *program.Installation) {
	tb.Helper()
	program.Execute(tb, i.Settings, "", "org", "set", i.Harbour.Slug, "--suspended", "--reason", "it leaves")
}

func resuming(i *program.Installation) []string {
	return []string{"org", "set", i.Harbour.Slug, "--suspended=false", "--reason", "it is complete"}
}

// checkCopy demands that a copy of an organization in use is as of one moment: what refers to each other is all there,
// and what is charged is what was run.
func checkCopy(tb testing.TB, archive string) {
	tb.Helper()
	type row struct {
		ID         string `json:"id"`
		Run        string `json:"validation_run_id"`
		RunID      string `json:"run_id"`
		Submission string `json:"submission_id"`
		Metric     string `json:"metric"`
		Used       int    `json:"used"`
	}
	rows := make(map[string][]row)
	for l := range strings.Lines(archive) {
		var parsed struct {
			Table string `json:"table"`
			Row   row    `json:"row"`
		}
		if err := json.Unmarshal([]byte(l), &parsed); err != nil {
			tb.Fatalf("read a line of the copy: %v: %s", err, l)
		}
		rows[parsed.Table] = append(rows[parsed.Table], parsed.Row)
	}
	has := func(table, id string) bool {
		return slices.ContainsFunc(rows[table], func(r row) bool { return r.ID == id })
	}
	runs, charged := rows["validation_runs"], 0
	for _, r := range rows["usage_counters"] {
		charged += r.Used
	}
	if len(runs) == 0 || charged != len(runs) || len(rows["idempotency_keys"]) != len(runs) {
		tb.Errorf("copy with %d runs, %d charged and %d keys, want as many of each", len(runs), charged,
			len(rows["idempotency_keys"]))
	}
	for _, r := range slices.Concat(runs, rows["step_runs"], rows["idempotency_keys"]) {
		if r.Submission != "" && !has("submissions", r.Submission) || r.Run != "" && !has("validation_runs", r.Run) ||
			r.RunID != "" && !has("validation_runs", r.RunID) {
			tb.Fatalf("copy with %+v, and without what it refers to", r)
		}
	}
}

// exportKilled kills an export in the middle, and returns the file of another one. What the killed one has written
// cannot be imported.
func exportKilled(tb testing.TB, i *program.Installation, l *leaving) string {
	tb.Helper()
	program.Await(tb, "runs end and counts are written", func() bool {
		count := func(sql string) int { return program.Count(tb, i.DB, sql, i.Harbour.ID) }
		return count("SELECT count(*) FROM validation_runs WHERE org_id = $1 AND state <> 'COMPLETED'") == 0 &&
			count("SELECT coalesce(sum(replays), 0)::bigint FROM key_activity WHERE org_id = $1") ==
				int(l.replayed.Load()) &&
			count("SELECT coalesce(sum(starts), 0)::bigint FROM refusal_days WHERE org_id = $1") ==
				int(l.refused.Load()) &&
			count("SELECT coalesce(sum(n), 0)::bigint FROM start_hours, unnest(took) AS n WHERE org_id = $1") ==
				count("SELECT count(*) FROM validation_runs WHERE org_id = $1 AND rerun_of IS NULL")
	})
	// As if the minute had passed that an export leaves to requests in progress.
	program.Change(tb, i.DB, "UPDATE organizations SET suspended_at = now() - interval '1 hour' WHERE id = $1",
		i.Harbour.ID)
	export := []string{"org", "export", i.Harbour.Slug}
	killed := killAt(tb, i, "ACCESS EXCLUSIVE", "external_calls", "SELECT row_to_json", export)
	file := filepath.Join(tb.TempDir(), "archive")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	write(killed.Stdout())
	wantSaid(tb, program.Fail(tb, i.Settings, "org", "import", file, "--dry-run"), "it ends too early")
	write(program.Execute(tb, i.Settings, "", export...))
	return file
}

// importKilled kills an import at each table, one before its last commit, and one after that.
func importKilled(tb testing.TB, from, to *program.Installation, file string) {
	tb.Helper()
	kills := 0
	for table := range program.RowsOf(tb, from.DB, from.Harbour.ID) {
		if slices.Contains(notMoved, table) || kills == importKills {
			continue
		}
		killAt(tb, to, "SHARE ROW EXCLUSIVE", table, "WITH here AS%INSERT INTO "+table+" ",
			[]string{"org", "import", "--trust", file})
		kills++
		if kills == 1 {
			wantSaid(tb, program.Fail(tb, to.Settings, resuming(from)...), "import of the organization has not ended")
		}
	}
	if want := min(importKills, len(deletionStops)); kills < want {
		tb.Errorf("imports that were killed = %d, want at least %d", kills, want)
	}
	killAtLastCommit(tb, to, file, pgproxy.Fault{Lose: true})
	wantSaid(tb, program.Fail(tb, to.Settings, resuming(from)...), "the import of the organization has not ended")
	killAtLastCommit(tb, to, file, pgproxy.Fault{Swallow: true})
	complaint := program.Fail(tb, to.Settings, "org", "import", "--trust", file)
	wantSaid(tb, complaint, "is here already, complete", "org set SLUG --suspended=false")
}

// killAtLastCommit kills an import at the commit that ends it. The fault says whether the commit takes effect.
func killAtLastCommit(tb testing.TB, i *program.Installation, file string, fault pgproxy.Fault) {
	tb.Helper()
	reached, killed := make(chan struct{}), make(chan struct{})
	defer close(killed)
	await := func() {
		close(reached)
		<-killed
	}
	if fault.Lose {
		fault.Before = await
	} else {
		fault.After = await
	}
	proxy := pgproxy.Start(tb, i.DB.Pool.Config().ConnString())
	proxy.Watch(func(commit pgproxy.Commit) pgproxy.Fault {
		if commit.String() == "update organizations, insert audit_records" {
			return fault
		}
		return pgproxy.Fault{}
	})
	settings := append(slices.Clip(i.Settings), "DATABASE_URL="+proxy.URL())
	p := program.Launch(tb, settings, "", "org", "import", "--trust", file)
	program.Receive(tb, "the import comes to its last commit", reached)
	p.Kill()
}

// killAt kills a command when one of its statements waits for a table that is locked.
func killAt(tb testing.TB, i *program.Installation, mode, table, statement string, args []string) *program.Process {
	tb.Helper()
	tx, err := i.DB.Pool.Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(tb.Context())) }() // It has written nothing.
	if _, err := tx.Exec(tb.Context(), "LOCK TABLE "+table+" IN "+mode+" MODE"); err != nil {
		tb.Fatal(err)
	}
	p := program.Launch(tb, i.Settings, "", args...)
	program.Await(tb, "the command comes to "+table, func() bool {
		if p.HasEnded() {
			tb.Fatalf("%v ended before it came to %s", args, table)
		}
		return program.Count(tb, i.DB, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`,
			statement) > 0
	})
	p.Kill()
	return p
}

// notMoved are tables that no archive holds.
var notMoved = []string{"request_log", "staged_jobs", "signing_keys", "signing_secrets"}

// wantSameRows demands that the organization has the same rows in both installations, but for the records of the move
// and the times at which tokens were used.
func wantSameRows(tb testing.TB, from, to *program.Installation) {
	tb.Helper()
	for _, table := range program.OrganizationTables(tb, from.DB) {
		if slices.Contains(notMoved, table) {
			continue
		}
		read := func(i *program.Installation) string {
			var text string
			err := i.DB.Pool.QueryRow(tb.Context(), `
				SELECT coalesce(string_agg(r.text, E'\n' ORDER BY r.text COLLATE "C"), '')
				FROM (SELECT (to_jsonb(t) - 'last_used_at')::text AS text FROM `+table+` AS t
					WHERE t.org_id = $1) AS r
				WHERE r.text !~ '"action": "organization.(import|resume)"'`, from.Harbour.ID).Scan(&text)
			if err != nil {
				tb.Fatal(err)
			}
			return text
		}
		if diff := cmp.Diff(read(from), read(to)); diff != "" {
			tb.Errorf("%s (-old installation +new one):\n%s", table, diff)
		}
	}
}
