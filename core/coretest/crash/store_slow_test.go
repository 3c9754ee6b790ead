//go:build slow

package crash

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestCrashStored is TestCrash for documents in an object store, whose server takes a minute to build.
func TestCrashStored(t *testing.T) {
	t.Parallel()
	f := storedFlow()
	t.Run("undisturbed", func(t *testing.T) {
		t.Parallel()
		undisturbed(t, f)
	})
	for i, where := range f.places() {
		t.Run(fmt.Sprintf("B%d", i+1), func(t *testing.T) {
			t.Parallel()
			strikeAt(t, f, i, where)
		})
	}
}

// TestOtherStore has processes with no store, and with that of another database, on documents in a store.
func TestOtherStore(t *testing.T) {
	t.Parallel()
	s := newStage(t, storedFlow())
	s.launch(t)
	s.sending.Wait()
	s.victim.Kill()
	program.Execute(t, s.Settings, "", "admin", "purge") // The store is that of this database now.
	refused := func(setting, reason string) {
		t.Helper()
		p := program.Launch(t, append(slices.Clip(s.Settings), setting), "", "serve", "--only", "web")
		if code := p.ExitCode(t); code != 2 || !strings.Contains(p.Stderr(), reason) {
			t.Errorf("exit code = %d: %s, want 2 and %q", code, p.Stderr(), reason)
		}
	}
	refused("SV_CONTENT_URL=", "set SV_CONTENT_URL to it")
	refused("SV_CONTENT_URL=http://127.0.0.1/documents", "SV_CONTENT_URL is not usable")
	doctor := program.Launch(t, s.Settings, "", "doctor")
	doctor.AwaitEnd(t)
	if found := doctor.Stdout(); !strings.Contains(found, "it takes, returns and deletes objects") {
		t.Errorf("doctor = %s, want a store that works", found)
	}
	program.Change(t, s.DB, `UPDATE object_stores SET id = gen_random_uuid()`)
	refused("SV_CONTENT_URL="+s.store.url, "belongs to another database")
}

// storedFlow is the start on a large document that is put into an object store.
func storedFlow() flow {
	return flow{
		name: "stored", part: web, stored: true, before: countersOpened, request: startStored,
		status: http.StatusCreated,
		counts: map[string]int{
			allRuns: 1, runsCounted: 1, runsCharged: 1, adopted: 1, "SELECT count(*) FROM upload_chunks": 0,
		},
		boundaries: []string{
			"insert uploads", callStore, "update uploads, insert upload_objects", callStore,
			"update uploads, insert upload_objects", sealed,
			"insert submissions, insert idempotency_keys, update usage_counters, update uploads, " +
				"insert validation_runs, insert staged_jobs" + paid,
			handedOver,
		},
	}
}

// startStored starts a run on a document of two objects.
func startStored(tb testing.TB, s *stage) request {
	tb.Helper()
	o := program.Readings(tb, key)
	var body []byte
	for len(body) <= 1<<20 {
		body = append(body, o.Body...)
	}
	o.Body = body
	return start(s, o)
}
