//go:build slow

package operations

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestSchemaChangesUnderLoad changes the schema under processes that start runs, execute them and answer reads: columns
// are added, as by migrations, and columns get another type, which changes what prepared statements return.
// Transactions are repeated then, so each start is answered; a read outside of them may have to be sent again.
func TestSchemaChangesUnderLoad(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]func(database string) []string{
		"Direct":           func(database string) []string { return []string{"DATABASE_URL=" + database} },
		"ThroughPgBouncer": pooled(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := coretest.DatabaseURL(t)
			i := program.InstallOn(t, database, coretest.Redis(t), reach(database)...)
			servers := serve(t, i, 2)
			var turn atomic.Int64
			base := func() string { return servers[int(turn.Add(1))%len(servers)].URL() }
			load := program.StartLoad(t, i.Harbour.Tokens.Executor, base)
			finish := readOn(t, i.Harbour.Tokens.Owner, base)
			load.AwaitProgress(t, 40)
			for _, change := range changes(t, i) {
				coretest.Prepare(t, database, change)
				load.AwaitProgress(t, 4)
			}
			load.AwaitProgress(t, 40)
			finish()
			load.Finish(t)
			if unheard, refused := load.Unheard.Load(), load.Refused.Load(); unheard != 0 || refused != 0 {
				t.Errorf("%d starts got no answer and %d were refused, want none", unheard, refused)
			}
			program.CheckAtRest(t, i.DB)
			load.History.Check(t, i.DB, i.Harbour.ID)
		})
	}
}

// changes are a column more for each table, and another type for texts that hot statements read.
func changes(tb testing.TB, i *program.Installation) []string {
	tb.Helper()
	rows, err := i.DB.Pool.Query(tb.Context(), `
		SELECT format('ALTER TABLE %I ADD COLUMN added_later integer', tablename) FROM pg_tables
		WHERE schemaname = 'public' AND tablename <> 'goose_db_version'`)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	for _, table := range []string{
		"organizations ALTER name", "organizations ALTER slug", "workflows ALTER slug", "workflows ALTER name",
		"validation_runs ALTER error", "submissions ALTER media_type", "idempotency_keys ALTER request_id",
	} {
		all = append(all, "ALTER TABLE "+table+" TYPE varchar")
	}
	return all
}

// readOn reads what clients read until the returned function is called. All has to be there, at once or for a client
// that does as it is told and reads again.
func readOn(tb testing.TB, token string, base func() string) func() {
	tb.Helper()
	client := program.NewClient(tb, token)
	var ended atomic.Bool
	var reading sync.WaitGroup
	for _, path := range []string{
		"/api/me/", "/api/runs/", "/api/workflows/", "/api/usage/", "/api/idempotency-keys/", "/api/audit/",
	} {
		reading.Go(func() {
			for !ended.Load() {
				a := client.Get(tb, base()+path)
				again := a.Status == http.StatusServiceUnavailable && a.Problem().Retryable
				if a.Status != http.StatusOK && !again {
					tb.Errorf("GET %s = %d %s, want 200 or that it is to be sent again", path, a.Status, a.Body)
					return
				}
			}
		})
	}
	return func() { ended.Store(true); reading.Wait() }
}
