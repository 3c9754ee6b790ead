package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	// badEvery is how many rows have a finding each.
	badEvery = 5000
	// executing is the condition of a run that a worker is at.
	executing = "id = $1 AND state = 'RUNNING' AND lease_until > now()"
)

// largeTable is a document with largeRows / badEvery findings.
func largeTable() []byte {
	var text strings.Builder
	text.WriteString("meter_id,read_at,kwh,quality,tariff\n")
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for row := range largeRows {
		kwh := "34.83"
		if row%badEvery == 0 {
			kwh = "n/a"
		}
		fmt.Fprintf(&text, "MTR-1001,%s,%s,A,night\n", at.Add(time.Duration(row)*time.Second).Format(time.RFC3339), kwh)
	}
	return []byte(text.String())
}

// frozen is a run whose worker was stopped in the middle of it.
type frozen struct {
	*program.Installation
	run    uuid.UUID
	worker *program.Process
}

// freeze starts a run and stops its worker while it executes.
func freeze(tb testing.TB, document []byte) frozen {
	tb.Helper()
	i := program.Install(tb, "SV_RUN_LEASE=1s", "SV_MAX_BODY_BYTES=100000000", "SV_DB_STATEMENT_TIMEOUT=30s")
	web := program.Serve(tb, i.Settings, "--only", "web")
	c := program.NewClient(tb, i.Harbour.Tokens.Executor)
	f := frozen{Installation: i, worker: program.Launch(tb, i.Settings, "", "serve", "--only", "worker")}
	o := program.Order{Workflow: "meter-readings", Key: "large", MediaType: "text/csv", Body: document}
	first := c.Start(tb, web.URL(), o)
	program.WantCreated(tb, first)
	f.run = first.Run(tb)
	program.Await(tb, "a worker takes the run", func() bool { return f.holds(tb, executing) })
	if err := f.worker.Freeze(); err != nil {
		tb.Fatal(err)
	}
	if !f.holds(tb, "id = $1 AND state = 'RUNNING'") {
		tb.Fatal("the run was over before its worker could be stopped: it takes more rows")
	}
	return f
}

// holds reports whether the run is as the condition says.
func (f frozen) holds(tb testing.TB, condition string) bool {
	tb.Helper()
	return program.Count(tb, f.DB, "SELECT count(*) FROM validation_runs WHERE "+condition, f.run) == 1
}

// takenOver waits until a second worker has the run, which the first one was the first to begin.
func (f frozen) takenOver(tb testing.TB) *program.Process {
	tb.Helper()
	second := program.Launch(tb, f.Settings, "", "serve", "--only", "worker")
	program.Await(tb, "another worker takes the run over", func() bool {
		return f.holds(tb, "id = $1 AND attempts >= 2")
	})
	return second
}

// row is all that is stored of the run.
func (f frozen) row(tb testing.TB) string {
	tb.Helper()
	var text string
	if err := f.DB.Pool.QueryRow(tb.Context(), `
		SELECT to_json(r)::text
			|| (SELECT json_agg(s ORDER BY s.ordinal)::text FROM step_runs AS s WHERE s.run_id = r.id)
			|| (SELECT json_agg(f ORDER BY f.ordinal)::text FROM findings AS f WHERE f.run_id = r.id)
		FROM validation_runs AS r WHERE r.id = $1`, f.run).Scan(&text); err != nil {
		tb.Fatalf("read the run: %v", err)
	}
	return text
}

// check demands one verdict with one set of findings, after everybody has finished.
func (f frozen) check(tb testing.TB, workers ...*program.Process) {
	tb.Helper()
	program.CheckAtRest(tb, f.DB)
	before := f.row(tb)
	for _, worker := range workers {
		// A worker ends when its handlers have returned, and only then has the frozen one tried all it would.
		worker.Signal(tb, syscall.SIGTERM)
		if got := worker.ExitCode(tb); got != 0 {
			tb.Errorf("exit code of a worker = %d, want 0", got)
		}
	}
	program.CheckAtRest(tb, f.DB)
	if after := f.row(tb); after != before {
		tb.Errorf("the run changed after its end from %s to %s", before, after)
	}
	const wanted = largeRows / badEvery
	if got := program.Count(tb, f.DB, "SELECT count(*) FROM findings WHERE run_id = $1", f.run); got != wanted {
		tb.Errorf("findings = %d, want %d", got, wanted)
	}
	if !f.holds(tb, "id = $1 AND state = 'COMPLETED' AND result = 'FAIL' AND error_count = "+strconv.Itoa(wanted)) {
		tb.Errorf("run = %s, want FAIL with %d errors", before, wanted)
	}
}

func TestFrozenWorker(t *testing.T) {
	t.Parallel()
	document := largeTable()

	t.Run("WakesWhileAnotherExecutes", func(t *testing.T) {
		t.Parallel()
		for range takeovers {
			f := freeze(t, document)
			second := f.takenOver(t)
			f.worker.Signal(t, syscall.SIGCONT)
			f.check(t, f.worker, second)
		}
	})

	t.Run("WakesAfterAnotherHasCompleted", func(t *testing.T) {
		t.Parallel()
		for range takeovers {
			f := freeze(t, document)
			second := f.takenOver(t)
			program.AwaitRest(t, f.DB)
			f.worker.Signal(t, syscall.SIGCONT)
			f.check(t, f.worker, second)
		}
	})
}
