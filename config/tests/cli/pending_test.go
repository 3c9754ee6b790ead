package cli

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/cmd"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// A command must not change the schema under the processes of an older release.
func TestCommandsRefuseAnOlderSchema(t *testing.T) {
	t.Parallel()
	const org, id = "acme", "01890a5d-ac96-774b-bcce-b302099a8057"
	commands := writingCommands(id, id)
	maps.Copy(commands, map[string][][]string{
		"idempotency explain": {{"pending_test.go", "--org", org, "--workflow", "report"}},
		"idempotency list":    {{"--org", org}},
		"org audit":           {nil},
		"org delete":          {{org}},
		"org export":          {{org}},
		"org import":          {{"-"}},
		"org list":            {nil},
		"org move":            {{org, "--to", "-"}},
		"org usage":           {nil},
		"admin runs list":     {{"--org", org}},
		"admin runs lost":     {{"--org", org, "--keys", "-"}},
		"admin purge":         {nil},
		"secrets rotate":      {nil},
		"serve":               {{"--migrate=off"}},
		"admin token revoke":  {{id, "--org", org}},
		"user export":         {{"ann@acme.example"}},
		"user list":           {nil},
	})
	wantEveryCommand(t, commands, map[string]string{
		"they are how an older schema is found and mended": "doctor, migrate up",
		"they call a service":                              remoteCommands, "they need none": loneCommands,
	})
	db := coretest.OpenDatabase(t)
	newest := coretest.One[string](t, db, `DELETE FROM goose_db_version
		WHERE version_id = (SELECT max(version_id) FROM goose_db_version) RETURNING lpad(version_id::text, 5, '0')`)
	c := fixture.Console{Environ: []string{
		"DATABASE_URL=" + db.Pool.Config().ConnString(), "REDIS_URL=redis://127.0.0.1:1", "SV_DATA_DIR=" + t.TempDir(),
		"SV_LOG_LEVEL=error", "SV_SECRET_KEY=" + fixture.SecretKey,
	}}
	for name, lines := range commands {
		var out, complaint bytes.Buffer
		code := cmd.Program{
			Environ: c.Environ, Stdin: strings.NewReader("a long password\n"), Stdout: &out, Stderr: &complaint,
		}.Run(t.Context(), append(strings.Fields(name), lines[0]...))
		if code != 8 || out.Len() > 0 || !strings.Contains(complaint.String(), "1 migration pending, "+newest) ||
			!strings.Contains(complaint.String(), "simplevalidations migrate up applies") {
			t.Errorf("%s = %d with output %q and complaint %q, want 8 and what to do", name, code, &out, &complaint)
		}
	}
	if status := c.Must(t, "migrate", "up", "--dry-run"); strings.Count(status, "-- pending ") != 1 {
		t.Errorf("status = %s, want the migration still pending", status)
	}
}

// Reading the state of the schema changes nothing, so it works for a role that may not, and on a standby.
func TestReadingMigrationsChangesNothing(t *testing.T) {
	t.Parallel()
	c := fixture.Console{Environ: []string{
		"DATABASE_URL=" + coretest.EmptyDatabaseURL(t) + "&default_transaction_read_only=on",
		"SV_DATA_DIR=" + t.TempDir(), "SV_LOG_LEVEL=error", "SV_SECRET_KEY=" + fixture.SecretKey,
	}}
	if plan := c.Must(t, "migrate", "up", "--dry-run"); strings.Contains(plan, "-- applied ") {
		t.Errorf("plan = %s, want all pending", plan)
	}
	if code, _, complaint := c.Run(t, "org", "list"); code != 8 || !strings.Contains(complaint, "00001_users.sql to ") {
		t.Errorf("org list = %d %s, want 8 and the first and last of the pending migrations", code, complaint)
	}
}

// An error of the database says what to do.
func TestCommandsHintAtWhatToDo(t *testing.T) {
	t.Parallel()
	c := fixture.SetupConsole(t)
	c.Environ = append(c.Environ, "DATABASE_URL="+c.Database+"&default_transaction_read_only=on")
	if code, _, complaint := c.Run(t, "org", "create", "acme"); code != 1 ||
		!strings.Contains(complaint, "let DATABASE_URL lead to the primary") {
		t.Errorf("org create = %d %s, want 1 and what to do", code, complaint)
	}
	c.Environ = append(c.Environ, "DATABASE_URL=postgres://127.0.0.1:1/nothing")
	if code, _, complaint := c.Run(t, "org", "list"); code != 1 ||
		!strings.Contains(complaint, "start the server, or correct its host and port in DATABASE_URL") {
		t.Errorf("org list = %d %s, want 1 and what to do", code, complaint)
	}
}

// Migrations of a database that nobody has named by DATABASE_URL would help nobody, and harm its owner.
func TestMigrateRefusesAnotherDatabase(t *testing.T) {
	t.Parallel()
	c := fixture.SetupConsole(t)
	other := coretest.EmptyDatabaseURL(t)
	c.Environ = append(c.Environ, "DATABASE_DIRECT_URL="+other)
	if code, _, complaint := c.Run(t, "migrate", "up"); code != 2 ||
		!strings.Contains(complaint, "DATABASE_DIRECT_URL leads to another database than DATABASE_URL") {
		t.Errorf("migrate up = %d %s, want 2 and the setting", code, complaint)
	}
	tables := coretest.One[int](t, coretest.Connect(t, other),
		`SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace`)
	if tables != 0 {
		t.Errorf("tables and indexes of the other database = %d, want none", tables)
	}
}
