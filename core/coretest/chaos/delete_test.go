package chaos

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// deletionStops are tables at which a deletion is killed, in the order in which it comes to them.
var deletionStops = []string{
	"findings", "step_runs", "idempotency_keys", "validation_runs", "submissions", "start_hours", "request_log",
	"audit_records", "api_tokens", "memberships",
}

// TestDeleteOrganizationUnderLoad suspends, resumes and deletes an organization while clients start runs in it and in
// another one. The deletion is killed at one table after the other, and a process that had accepted starts sleeps
// through all of it. Nothing is left of the organization, and the other one does not notice.
func TestDeleteOrganizationUnderLoad(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_PURGE_SCHEDULE=@every 2s")
	program.Execute(t, i.Settings, "", "org", "set", i.Tiny.Slug, "--runs", "1000000")
	webs := []*program.Server{
		program.Serve(t, i.Settings, "--only", "web"), program.Serve(t, i.Settings, "--only", "web"),
	}
	worker := program.Launch(t, i.Settings, "", "serve", "--only", "worker,scheduler")
	bases := []string{webs[0].URL(), webs[1].URL()}
	either := func() string { return bases[rand.IntN(len(bases))] }
	steady := program.StartLoad(t, i.Tiny.Tokens.Executor, either)
	l := startLeaving(t, i.Harbour.Tokens.Executor, either)
	l.awaitProgress(t, 2*mostLife)

	l.become(isSuspended, func() { suspend(t, i) })
	l.awaitRefusals(t, mostLife)
	l.become(isActive, func() {
		program.Execute(t, i.Settings, "", resuming(i)...)
	})
	l.awaitProgress(t, mostLife)

	// From here on runs wait for a worker, and some starts are in a process that does not go on.
	worker.Kill()
	l.awaitProgress(t, leastLife)
	if err := webs[1].Freeze(); err != nil {
		t.Fatal(err)
	}
	l.become(isSuspended, func() { suspend(t, i) })
	killDeletions(t, i, func() { program.Launch(t, i.Settings, "", "serve", "--only", "worker,scheduler") })
	l.become(isDeleted, func() { program.Execute(t, i.Settings, "", "org", "delete", i.Harbour.Slug) })
	webs[1].Signal(t, syscall.SIGCONT)
	l.awaitRefusals(t, mostLife)
	steady.AwaitProgress(t, mostLife)
	l.finish(t)
	steady.Finish(t)

	program.CheckAtRest(t, i.DB)
	steady.History.Check(t, i.DB, i.Tiny.ID)
	for _, web := range webs { // They write what they have counted.
		web.Signal(t, syscall.SIGTERM)
		web.AwaitEnd(t)
	}
	t.Logf("rows that were written after the deletion: %v", program.RowsOf(t, i.DB, i.Harbour.ID))
	program.Await(t, "what was written after the deletion is purged", func() bool {
		return len(program.RowsOf(t, i.DB, i.Harbour.ID)) == 0
	})
	steady.History.Check(t, i.DB, i.Tiny.ID)
}

// killDeletions kills a deletion at each of the stops where it finds rows. The first one meets the workers.
func killDeletions(tb testing.TB, i *program.Installation, work func()) {
	tb.Helper()
	kills := 0
	for _, table := range deletionStops {
		if kills == deletionKills {
			break
		}
		tx := lockRow(tb, i.DB, table, i.Harbour.ID)
		if tx == nil {
			continue
		}
		deletion := program.Launch(tb, i.Settings, "", "org", "delete", i.Harbour.Slug)
		program.Await(tb, "the deletion comes to "+table, func() bool {
			if deletion.HasEnded() {
				tb.Fatalf("the deletion ended before %s: %s", table, deletion.Stderr())
			}
			return program.Count(tb, i.DB, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DELETE FROM %'`) > 0
		})
		deletion.Kill()
		if err := tx.Rollback(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		kills++
		if kills == 1 {
			work()
		}
	}
	if want := min(deletionKills, len(deletionStops)-2); kills < want {
		tb.Errorf("deletions that were killed = %d, want at least %d at %v", kills, want, deletionStops)
	}
}

// lockRow locks a row of the organization until the transaction ends. It returns nil where there is none.
func lockRow(tb testing.TB, database *db.DB, table string, org uuid.UUID) pgx.Tx {
	tb.Helper()
	tx, err := database.Pool.Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(tb.Context())) }) // It may have ended.
	tag, err := tx.Exec(tb.Context(), "SELECT FROM "+table+" WHERE org_id = $1 LIMIT 1 FOR UPDATE", org)
	if err != nil {
		tb.Fatalf("lock a row of %s: %v", table, err)
	}
	if tag.RowsAffected() == 0 {
		_ = tx.Rollback(tb.Context()) // It has locked nothing.
		return nil
	}
	return tx
}
