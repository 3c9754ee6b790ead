//go:build slow

package operations

import (
	"bytes"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// programVariable names the program that servers are started from.
const programVariable = "TEST_PROGRAM"

// TestUpgradeUnderLoad goes from the previous release to this one and back while clients start runs: on the new schema
// both releases work, beside each other, and neither starts a run twice or forgets an answer.
//
//nolint:paralleltest // It changes which program is started.
func TestUpgradeUnderLoad(t *testing.T) {
	releases := releases{newer: os.Getenv(programVariable), older: program.Previous(t)}
	t.Run("Direct", func(t *testing.T) {
		releases.upgrade(t, func(database string) []string { return []string{"DATABASE_URL=" + database} })
	})
	t.Run("ThroughPgBouncer", func(t *testing.T) { releases.upgrade(t, pooled(t)) })
}

// pooled returns the settings of processes that reach a database through a PgBouncer.
func pooled(tb testing.TB) func(database string) []string {
	tb.Helper()
	return func(database string) []string {
		return []string{"DATABASE_URL=" + program.PgBouncer(tb, database), "DATABASE_DIRECT_URL=" + database}
	}
}

// releases are the programs of this release and of the previous one.
type releases struct {
	newer, older string
}

func (r releases) upgrade(t *testing.T, reach func(database string) []string) {
	t.Helper()
	use := func(path string) { t.Setenv(programVariable, path) }
	use(r.older)
	database := coretest.EmptyDatabaseURL(t)
	i := program.InstallOn(t, database, coretest.Redis(t), reach(database)...)
	servers := serve(t, i, 2)
	var turn atomic.Int64
	addresses := []string{servers[0].URL(), servers[1].URL()}
	load := program.StartLoad(t, i.Harbour.Tokens.Executor, func() string {
		return addresses[turn.Add(1)%int64(len(addresses))]
	})
	client := program.NewClient(t, i.Tiny.Tokens.Executor)
	const progress = 30
	load.AwaitProgress(t, progress)

	before := client.Start(t, servers[0].URL(), program.Building(t, "before"))
	use(r.newer)
	program.Execute(t, i.Settings, "", "migrate", "up")
	load.AwaitProgress(t, progress) // The old processes on the new schema.

	replace(t, i, servers, 0)
	load.AwaitProgress(t, progress) // A new process beside an old one.
	beside := client.Start(t, servers[0].URL(), program.Building(t, "beside"))
	wantReplay(t, before, client.Start(t, servers[0].URL(), program.Building(t, "before")))
	wantReplay(t, beside, client.Start(t, servers[1].URL(), program.Building(t, "beside")))

	replace(t, i, servers, 1)
	load.AwaitProgress(t, progress)
	use(r.older)
	replace(t, i, servers, 0) // Back, without migrating back.
	wantReplay(t, beside, client.Start(t, servers[0].URL(), program.Building(t, "beside")))
	replace(t, i, servers, 1)
	load.AwaitProgress(t, progress)
	load.Finish(t)

	program.Await(t, "all runs end", func() bool {
		return program.Count(t, i.DB, "SELECT count(*) FROM validation_runs WHERE state <> 'COMPLETED'") == 0
	})
	load.History.Check(t, i.DB, i.Harbour.ID)
	runs := program.Count(t, i.DB, "SELECT count(*) FROM validation_runs WHERE org_id = $1", i.Harbour.ID)
	charged := program.Count(t, i.DB, "SELECT sum(used)::bigint FROM usage_counters WHERE org_id = $1", i.Harbour.ID)
	if runs != load.History.Size() || charged != runs {
		t.Errorf("%d runs, %d charged, want %d as keys", runs, charged, load.History.Size())
	}
}

// replace stops a server and starts the program that is in use on its address.
func replace(tb testing.TB, i *program.Installation, servers []*program.Server, at int) {
	tb.Helper()
	servers[at].Signal(tb, syscall.SIGTERM)
	if code := servers[at].ExitCode(tb); code != 0 {
		tb.Errorf("exit code = %d, want 0", code)
	}
	servers[at] = servers[at].Again(tb, i.Settings)
}

func wantReplay(tb testing.TB, first, again program.Answer) {
	tb.Helper()
	if !again.Created() || !bytes.Equal(first.Body, again.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		tb.Errorf("replay = %d %s, want %s", again.Status, again.Body, first.Body)
	}
}
