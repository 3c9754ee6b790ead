//go:build slow

package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/objectstore"
)

// setupStored serves with an object store that can be made to fail.
func setupStored(tb testing.TB) (*stage, *objectstore.Server, *atomic.Bool) {
	tb.Helper()
	server, fails := objectstore.Start(tb), new(atomic.Bool)
	address := server.Behind(tb, func(store http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fails.Load() {
				http.Error(w, "the store fails", http.StatusInternalServerError)
				return
			}
			store.ServeHTTP(w, r)
		})
	})
	s := &stage{Stage: fixture.Setup(tb, func(settings *config.Settings) {
		settings.ContentURL = config.Secret(address)
	})}
	return s, server, fails
}

// wantStored demands that the store has the document, and the database none of its bytes.
func wantStored(tb testing.TB, s *stage, server *objectstore.Server, document string) {
	tb.Helper()
	if n := coretest.One[int64](tb, s.DB, `SELECT count(*) FROM upload_chunks`); n != 0 {
		tb.Errorf("%d chunks in the database, want none", n)
	}
	var stored bytes.Buffer
	for _, name := range server.Objects(tb) {
		text, err := os.ReadFile(server.Path(name))
		if err != nil {
			tb.Fatal(err)
		}
		if want := fmt.Sprintf("-%x", sha256.Sum256(text)); !strings.HasSuffix(name, want) {
			tb.Errorf("object %s does not have its digest", name)
		}
		stored.Write(text)
	}
	if stored.String() != document {
		tb.Errorf("%d bytes in the store, which are not the document", stored.Len())
	}
}

func TestStoredDocument(t *testing.T) {
	t.Parallel()
	s, server, fails := setupStored(t)
	document := table(2<<20 + 1)
	c := s.Start(t, "stored").WithBody("text/csv", document)
	first := s.Must(t, http.StatusCreated, c)
	fixture.WantReplay(t, first, s.Do(t, c))
	run := fixture.Decoded[api.Run](t, first)
	wantStored(t, s, server, document)

	// A run waits for the store, and none of its attempts counts.
	fails.Store(true)
	s.Work(t)
	coretest.WantRow(t, s.DB, coretest.Row{"state": "RUNNING", "attempts": "0", "waits": "t"}, `
		SELECT state, attempts, lease_until IS NULL AND sweep_after > now() AS waits FROM validation_runs`)
	s.Refused(t, api.CodeUnavailable, s.Start(t, "refused").WithBody("text/csv", document))
	if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM uploads`); n != 1 {
		t.Errorf("%d uploads, want that of the run alone", n)
	}
	fails.Store(false)
	s.Exec(t, `UPDATE validation_runs SET sweep_after = now()`)
	if _, err := s.Executor.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Work(t)
	if found := s.findings(t, run.ID); !strings.HasPrefix(found, "FAIL") || !strings.Contains(found, `"much"`) {
		t.Errorf("found %.200q, want the faults of the table", found)
	}

	// With its retention the document's bytes go, too.
	s.Exec(t, `UPDATE validation_runs SET ended_at = now() - interval '2 days',
		created_at = created_at - interval '3 days', started_at = started_at - interval '3 days'`)
	server.Age(t, 25*time.Hour)
	s.Console(t).Must(t, "admin", "purge")
	if names := server.Objects(t); len(names) != 0 {
		t.Errorf("objects = %q, want none after the retention", names)
	}
}

// TestDamagedObject has the store lose and change what a run is to read: neither is a verdict.
func TestDamagedObject(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"Lost":    os.Remove,
		"Changed": func(path string) error { return os.WriteFile(path, []byte("meter_id\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server, _ := setupStored(t)
			s.Must(t, http.StatusCreated, s.Start(t, "damaged").WithBody("text/csv", table(300<<10)))
			if err := damage(server.Path(server.Objects(t)[0])); err != nil {
				t.Fatal(err)
			}
			for range 6 {
				s.Work(t)
				s.Exec(t, `UPDATE validation_runs SET sweep_after = now() WHERE state <> 'COMPLETED'`)
				if _, err := s.Executor.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s.Work(t)
			coretest.WantRow(t, s.DB, coretest.Row{"result": "ERROR", "category": "SYSTEM_ERROR"},
				`SELECT result, error_category AS category FROM validation_runs`)
		})
	}
}
