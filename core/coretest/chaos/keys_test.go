package chaos

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// keyID reads the id of the only use of a key.
func keyID(tb testing.TB, database *db.DB, key string) string {
	tb.Helper()
	var id uuid.UUID
	err := database.Pool.QueryRow(tb.Context(), `SELECT id FROM idempotency_keys WHERE key = $1`, key).Scan(&id)
	if err != nil {
		tb.Fatalf("find key %s: %v", key, err)
	}
	return id.String()
}

func TestKeyCommands(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	s := program.Serve(t, i.Settings, "--only", "web")
	c := program.NewClient(t, i.Harbour.Tokens.Executor)
	for _, key := range []string{"done", "stuck", "lost"} {
		program.WantCreated(t, c.Start(t, s.URL(), program.Building(t, key)))
	}
	program.Change(t, i.DB, `
		UPDATE idempotency_keys SET recovery_point = 'run_reserved', response_status = NULL, response_headers = NULL,
			response_body = NULL, finished_at = NULL, locked_until = now(), attempts = 20,
			last_error = 'billing is down'
		WHERE key IN ('stuck', 'lost')`)
	program.Change(t, i.DB, `UPDATE idempotency_keys SET validation_run_id = NULL WHERE key = 'lost'`)
	keys := func(command string, args ...string) []string {
		return append([]string{"idempotency", command, "--org", "harbour-energy"}, args...)
	}

	t.Run("List", func(t *testing.T) {
		t.Parallel()
		said := program.Execute(t, i.Settings, "", keys("list", "--key", "done")...)
		wantSaid(t, said, "finished", keyID(t, i.DB, "done"))
		said = program.Execute(t, i.Settings, "", keys("list", "--key", "other")...)
		if strings.Count(said, "\n") != 1 {
			t.Errorf("list of no key said %q, want its heading alone", said)
		}
		said = program.Execute(t, i.Settings, "", "idempotency", "list", "--org", "tiny-quota")
		if strings.Contains(said, "done") {
			t.Errorf("the keys of another organization are listed: %s", said)
		}
		wantSaid(t, program.Fail(t, i.Settings, "idempotency", "list", "--org", "nobody"), "organization")
		wantSaid(t, program.Refuse(t, i.Settings, keys("list", "--state", "done")...), "--state")
	})

	t.Run("Show", func(t *testing.T) {
		t.Parallel()
		id := keyID(t, i.DB, "done")
		wantSaid(t, program.Execute(t, i.Settings, "", keys("show", id)...), "workflow_start", "finished", "received",
			"POST /api/workflows/building/start/", "response stored", "expires")
		wantSaid(t, program.Refuse(t, i.Settings, keys("show", "done")...), "done is not a key's id")
		wantSaid(t, program.Refuse(t, i.Settings, keys("show")...), "ID is missing")
		wantSaid(t, program.Fail(t, i.Settings, keys("show", uuid.NewString())...), "no such idempotency key")
		wantSaid(t, program.Fail(t, i.Settings, "idempotency", "show", id, "--org", "tiny-quota"),
			"no such idempotency key")
	})

	t.Run("Release", func(t *testing.T) {
		t.Parallel()
		stuck, lost := keyID(t, i.DB, "stuck"), keyID(t, i.DB, "lost")
		wantSaid(t, program.Execute(t, i.Settings, "", keys("show", stuck)...),
			"dead", "billing is down", "run_reserved")
		wantSaid(t, program.Refuse(t, i.Settings, keys("release", stuck)...), "--reason")
		said := program.Fail(t, i.Settings, keys("release", keyID(t, i.DB, "done"), "--reason", "why")...)
		wantSaid(t, said, "this one is finished")
		for _, id := range []string{stuck, lost} {
			said := program.Execute(t, i.Settings, "", keys("release", id, "--reason", "it is back")...)
			wantSaid(t, said, "released "+id)
		}
		got := program.Count(t, i.DB, `SELECT count(*) FROM idempotency_keys WHERE attempts = 0 AND key = 'stuck'`)
		if got != 1 {
			t.Errorf("released keys with a run and all attempts = %d, want 1", got)
		}
		if got := program.Count(t, i.DB, `SELECT count(*) FROM idempotency_keys WHERE key = 'lost'`); got != 0 {
			t.Errorf("released keys without a run = %d, want 0", got)
		}
		if got := program.Count(t, i.DB, `
			SELECT count(*) FROM audit_records WHERE action = 'idempotency_key.release' AND detail = 'it is back'
				AND actor_id IS NULL`); got != 2 {
			t.Errorf("audit records of the operator = %d, want 2", got)
		}
	})
}

// document writes a file for explain and returns its path.
func document(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatalf("write document: %v", err)
	}
	return path
}

func TestExplain(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	s := program.Serve(t, i.Settings, "--only", "web")
	const content = `{"building": {"id": "B", "zones": [1, 2.0]}}`
	file := document(t, "b.json", content)
	reordered := document(t, "b.json", "{ \"building\":\n{\"zones\":[1,2.0],\"id\":\"\\u0042\"} }")
	explain := func(file string, args ...string) string {
		said := program.Execute(t, i.Settings, "", append([]string{
			"idempotency", "explain", file, "--org", "harbour-energy", "--content-type", "application/json",
		}, args...)...)
		found := regexp.MustCompile(`(?m)^fingerprint +([0-9a-f]{64})$`).FindStringSubmatch(said)
		if found == nil {
			t.Fatalf("explain said %q, want a fingerprint", said)
		}
		return found[1]
	}
	start := program.Order{Workflow: "building", Key: "explained", MediaType: "application/json", Body: []byte(content)}
	program.WantCreated(t, program.NewClient(t, i.Harbour.Tokens.Executor).Start(t, s.URL(), start))
	var stored string
	err := i.DB.Pool.QueryRow(t.Context(), `SELECT encode(request_hash, 'hex') FROM idempotency_keys`).Scan(&stored)
	if err != nil {
		t.Fatal(err)
	}
	if got := explain(file, "--workflow", "building", "--filename", ""); got != stored {
		t.Errorf("fingerprint = %s, want that of the start, %s", got, stored)
	}
	named := explain(file, "--workflow", "building")
	if got := explain(reordered, "--workflow", "building"); got != named {
		t.Errorf("fingerprint of the same document in another order = %s, want %s", got, named)
	}
	different := map[string]string{"no name": stored, "the file's name": named}
	for name, args := range map[string][]string{
		"another workflow": {"--workflow", "meter-readings"},
		"another name":     {"--workflow", "building", "--filename", "c.json"},
		"a version":        {"--workflow", "building", "--version", "1"},
	} {
		different[name] = explain(file, args...)
	}
	seen := make(map[string]string)
	for name, fingerprint := range different {
		if other, found := seen[fingerprint]; found {
			t.Errorf("%s and %s have one fingerprint, want two", name, other)
		}
		seen[fingerprint] = name
	}
	if got := program.Count(t, i.DB, "SELECT count(*) FROM validation_runs"); got != 1 {
		t.Errorf("runs = %d, want 1: explain starts nothing", got)
	}
}
