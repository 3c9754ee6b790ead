//go:build slow

package operations

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	sizedRuns    = 2000
	sizedClients = 16
)

// TestSizes measures what docs/guides/one-machine-to-many.md tells: rows, bytes and write-ahead log of a run. They do
// not depend on how busy the machine is. Run it with -v to see the table.
//
//nolint:paralleltest // The write-ahead log is that of the whole server.
func TestSizes(t *testing.T) {
	queued := program.Install(t)
	web := program.Serve(t, queued.Settings, "--only", "web")
	order := program.Building(t, "")
	startLog := logOf(t, queued, func() { startMany(t, queued, web, order) })
	verdictLog := logOf(t, queued, func() {
		program.Serve(t, queued.Settings)
		awaitVerdicts(t, queued)
	})
	t.Logf("WAL bytes per start %d, and per verdict of a queued run %d", startLog/sizedRuns, verdictLog/sizedRuns)

	local := program.Install(t)
	server := program.Serve(t, local.Settings)
	bothLog := logOf(t, local, func() {
		startMany(t, local, server, order)
		awaitVerdicts(t, local)
	})
	t.Logf("WAL bytes per start and verdict in one process %d", bothLog/sizedRuns)

	var table strings.Builder
	total := 0
	for _, name := range []string{
		"validation_runs", "submissions", "step_runs", "findings", "idempotency_keys", "audit_records",
	} {
		rows := program.Count(t, local.DB, "SELECT count(*) FROM "+name)
		size := program.Count(t, local.DB, "SELECT pg_total_relation_size('"+name+"')")
		indexes := program.Count(t, local.DB, "SELECT pg_indexes_size('"+name+"')")
		total += size
		fmt.Fprintf(&table, "| `%s` | %.2f | %d | %d |\n", name, float64(rows)/sizedRuns, size/sizedRuns,
			indexes/sizedRuns)
		if name == "submissions" && rows != sizedRuns {
			t.Errorf("rows of %s = %d, want one a run", name, rows)
		}
	}
	t.Logf("a document of %d bytes, %d bytes a run\n%s", len(order.Body), total/sizedRuns, table.String())
}

// startMany starts the runs, each under a key.
func startMany(tb testing.TB, i *program.Installation, server *program.Server, order program.Order) {
	tb.Helper()
	client := program.NewClient(tb, i.Harbour.Tokens.Executor)
	var group sync.WaitGroup
	for c := range sizedClients {
		group.Go(func() {
			for n := range sizedRuns / sizedClients {
				o := order
				o.Key = fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%04d%08d", c, n) // as long as a UUID
				if a, err := client.Try(tb.Context(), server.URL(), o); err != nil || !a.Created() {
					tb.Errorf("start = %d %s, %v", a.Status, a.Body, err)
				}
			}
		})
	}
	group.Wait()
}

func awaitVerdicts(tb testing.TB, i *program.Installation) {
	tb.Helper()
	program.Await(tb, "all runs end", func() bool {
		return program.Count(tb, i.DB, "SELECT count(*) FROM validation_runs WHERE state <> 'COMPLETED'") == 0
	})
}

// logOf returns how many bytes of write-ahead log the server writes meanwhile.
func logOf(tb testing.TB, i *program.Installation, do func()) int {
	tb.Helper()
	position := func() int {
		return int(coretest.One[int64](tb, i.DB, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"))
	}
	before := position()
	do()
	return position() - before
}
