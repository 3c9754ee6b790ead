package chaos

import (
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
		wantSaid(t, program.Execute(t, i.Settings, "", keys("list", id)...), "workflow_start", "finished", "received",
			"POST /api/workflows/building/start/", "response stored", "expires")
		wantSaid(t, program.Refuse(t, i.Settings, keys("list", "done")...), "done is not a key's id")
		wantSaid(t, program.Refuse(t, i.Settings, keys("list", id, "--state", "dead")...), "nothing to filter")
		wantSaid(t, program.Fail(t, i.Settings, keys("list", uuid.NewString())...), "no such idempotency key")
		wantSaid(t, program.Fail(t, i.Settings, "idempotency", "list", id, "--org", "tiny-quota"),
			"no such idempotency key")
	})

	t.Run("Release", func(t *testing.T) {
		t.Parallel()
		stuck, lost := keyID(t, i.DB, "stuck"), keyID(t, i.DB, "lost")
		wantSaid(t, program.Execute(t, i.Settings, "", keys("list", stuck)...),
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
