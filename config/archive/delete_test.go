package archive_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/archive"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestSuspendedOrganizationOnlyReads(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	start := s.Start(t, "before")
	run := s.Started(t, start)
	operator.Must(t, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "a stolen token")
	if problem := fixture.WantProblem(t, s.Do(t, start), api.CodeOrganizationSuspended); problem.Retryable {
		t.Error("the problem is retryable")
	}
	s.Must(t, http.StatusCreated, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	s.Work(t) // What was accepted is executed.
	state := dbtest.One[string](t, s.DB, "SELECT state FROM validation_runs WHERE id = $1", run.ID)
	if state != "COMPLETED" {
		t.Errorf("state of the run = %s, want COMPLETED", state)
	}
	if list := operator.Must(t, "org", "list"); !strings.Contains(list, "suspended since") {
		t.Errorf("list = %s, want the suspension", list)
	}
	operator.Must(t, "org", "set", s.Harbour.Slug, "--suspended=false", "--reason", "new tokens")
	s.Must(t, http.StatusCreated, start)
	s.Must(t, http.StatusCreated, s.Start(t, "while"))
	actions := dbtest.One[string](t, s.DB, `SELECT string_agg(action || ': ' || detail, ', ' ORDER BY created_at)
		FROM audit_records
		WHERE action IN ('organization.suspend', 'organization.resume')`)
	if want := "organization.suspend: a stolen token, organization.resume: new tokens"; actions != want {
		t.Errorf("audit = %s, want %s", actions, want)
	}
}

func TestDeleteOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	first := s.Started(t, s.Start(t, "deleted"))
	s.Must(t, http.StatusCreated, s.Start(t, "deleted"))
	s.Work(t)
	s.Must(t, http.StatusCreated, call{
		Method: http.MethodPost, Path: "/api/runs/" + first.ID + "/rerun/", Token: s.Harbour.Tokens.Executor,
		Header: http.Header{"Idempotency-Key": {"again"}},
	})
	s.Must(t, http.StatusCreated, s.Start(t, "kept").By(s.Tiny.Tokens.Executor))
	others := tenantRows(t, s, s.Tiny)

	if code, _, complaint := operator.Run(t, "org", "delete", s.Harbour.Slug); code != 1 ||
		!strings.Contains(complaint, "suspend the organization first") {
		t.Fatalf("delete of an active organization = %d %s, want it refused", code, complaint)
	}
	operator.Must(t, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "it left")
	before := tenantRows(t, s, s.Harbour)
	operator.Must(t, "org", "delete", s.Harbour.Slug, "--dry-run")
	if diff := cmp.Diff(before, tenantRows(t, s, s.Harbour)); diff != "" {
		t.Errorf("a dry run changed (-before +after):\n%s", diff)
	}
	operator.Must(t, "org", "delete", s.Harbour.Slug)
	wantAllDeleted(t, s)
	if diff := cmp.Diff(others, tenantRows(t, s, s.Tiny)); diff != "" {
		t.Errorf("rows of the other organization (-before +after):\n%s", diff)
	}
	s.Refused(t, api.CodeNotAuthenticated, s.Start(t, "deleted"))
	s.Must(t, http.StatusCreated, s.Start(t, "kept").By(s.Tiny.Tokens.Executor))
	if n := dbtest.One[int](t, s.DB, `SELECT count(*)::int FROM audit_records
		WHERE action = 'organization.delete' AND target_id = $1`, s.Harbour.ID.String()); n != 1 {
		t.Errorf("audit records of the deletion = %d, want 1", n)
	}
	// What a late request has left is deleted by the id.
	s.Exec(t, `INSERT INTO key_activity (org_id, key_id) VALUES ($1, $1)`, s.Harbour.ID)
	operator.Must(t, "org", "delete", s.Harbour.ID.String())
	if rows := tenantRows(t, s, s.Harbour)["key_activity"]; rows != 0 {
		t.Errorf("rows that were left = %d, want 0", rows)
	}
	s.Exec(t, `INSERT INTO key_activity (org_id, key_id) VALUES ($1, $1)`, s.Harbour.ID)
	others = tenantRows(t, s, s.Tiny)
	purged, err := archive.PurgeDeleted(t.Context(), s.DB)
	if rows := tenantRows(t, s, s.Harbour)["key_activity"]; rows != 0 || purged != 1 || err != nil {
		t.Errorf("purge = %d, %v and leaves %d rows, want it to delete the one", purged, err, rows)
	}
	if diff := cmp.Diff(others, tenantRows(t, s, s.Tiny)); diff != "" {
		t.Errorf("rows of the other organization (-before +after):\n%s", diff)
	}
}

// A deletion that is killed anywhere is finished by the next one.
func TestDeleteOrganizationAfterEveryKill(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	s.Started(t, s.Start(t, "deleted"))
	s.Work(t)
	operator.Must(t, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "it left")
	for _, table := range archive.TenantTables() {
		// A trigger ends the statement on this table, as the end of the process would.
		s.Exec(t, `CREATE FUNCTION kill_`+table+`() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'killed at `+table+`'; END $$`)
		s.Exec(t, `CREATE TRIGGER kill BEFORE DELETE ON `+table+` FOR EACH STATEMENT EXECUTE FUNCTION kill_`+table+`()`)
		code, _, complaint := operator.Run(t, "org", "delete", s.Harbour.Slug)
		if code != 1 || !strings.Contains(complaint, "killed at "+table) {
			t.Fatalf("delete = %d %s, want it to end at %s", code, complaint, table)
		}
		s.Exec(t, `DROP TRIGGER kill ON `+table)
	}
	operator.Must(t, "org", "delete", s.Harbour.Slug)
	wantAllDeleted(t, s)
}

// A start that was accepted before the suspension, and ends between two tables, is deleted like the others.
func TestDeleteOrganizationWithALateStart(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	s.Started(t, s.Start(t, "late"))
	operator.Must(t, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "it left")
	s.Exec(t, `CREATE TABLE late AS SELECT r AS run FROM validation_runs AS r`)
	s.Exec(t, `CREATE FUNCTION come_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NOT EXISTS (SELECT FROM gone) THEN
			INSERT INTO validation_runs SELECT (run).* FROM late;
			DELETE FROM late;
		END IF;
		RETURN NULL;
	END $$`)
	s.Exec(t, `CREATE TRIGGER come_late AFTER DELETE ON validation_runs REFERENCING OLD TABLE AS gone
		FOR EACH STATEMENT EXECUTE FUNCTION come_late()`)
	operator.Must(t, "org", "delete", s.Harbour.Slug)
	if n := dbtest.One[int](t, s.DB, `SELECT count(*)::int FROM late`); n != 0 {
		t.Error("no start has come late")
	}
	wantAllDeleted(t, s)
}

// TestDeleteOrganizationAfterADeadlock has the database choose a statement of the deletion to end a deadlock.
func TestDeleteOrganizationAfterADeadlock(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	s.Started(t, s.Start(t, "kept"))
	operator.Must(t, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "it left")
	s.Exec(t, `CREATE SEQUENCE tries`)
	s.Exec(t, `CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('tries') = 1 THEN RAISE 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END IF;
		RETURN NULL;
	END $$`)
	s.Exec(t, `CREATE TRIGGER deadlock BEFORE DELETE ON validation_runs
		FOR EACH STATEMENT EXECUTE FUNCTION deadlock()`)
	operator.Must(t, "org", "delete", s.Harbour.Slug)
	wantAllDeleted(t, s)
}

// wantAllDeleted wants no table to have rows of the organization.
func wantAllDeleted(tb testing.TB, s *stage) {
	tb.Helper()
	for table, rows := range tenantRows(tb, s, s.Harbour) {
		if rows != 0 {
			tb.Errorf("%s has %d rows of the deleted organization", table, rows)
		}
	}
}

// tenantRows counts the rows of an organization in every table that has some of organizations.
func tenantRows(tb testing.TB, s *stage, org config.DemoOrg) map[string]int {
	tb.Helper()
	rows, err := s.DB.Pool.Query(tb.Context(), `SELECT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'org_id' ORDER BY table_name`)
	if err != nil {
		tb.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	if deleted := archive.AllTenantTables(); !slices.Equal(deleted, tables) {
		tb.Errorf("tables of a deletion = %v, want all with rows of organizations: %v", deleted, tables)
	}
	counts := make(map[string]int)
	for _, table := range tables {
		counts[table] = dbtest.One[int](tb, s.DB, "SELECT count(*)::int FROM "+table+" WHERE org_id = $1", org.ID)
	}
	return counts
}

func TestDeleteUser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	const viewer, owner = "viewer@harbour-energy.example", "owner@harbour-energy.example"
	if list := operator.Must(t, "user", "list"); !strings.Contains(list, viewer) {
		t.Errorf("list = %s, want %s", list, viewer)
	}
	read := call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer}
	s.Must(t, http.StatusOK, read)
	operator.Must(t, "user", "delete", viewer)
	s.Refused(t, api.CodeNotAuthenticated, read)
	if n := dbtest.One[int](t, s.DB, `SELECT count(*)::int FROM users WHERE email = $1`, viewer); n != 0 {
		t.Errorf("users = %d, want 0", n)
	}
	if code, _, complaint := operator.Run(t, "user", "delete", viewer); code != 1 ||
		!strings.Contains(complaint, "no user") {
		t.Errorf("delete again = %d %s, want no user", code, complaint)
	}
	if code, _, complaint := operator.Run(t, "user", "delete", owner); code != 1 ||
		!strings.Contains(complaint, "the only owner") || strings.Contains(complaint, "SQLSTATE") {
		t.Errorf("delete of the last owner = %d %s, want it refused without SQL", code, complaint)
	}
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: s.Harbour.Tokens.Owner})
}

func TestDryRunsChangeNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	s.Must(t, http.StatusCreated, s.Start(t, "kept"))
	token := dbtest.One[string](t, s.DB, `SELECT id::text FROM api_tokens WHERE org_id = $1 LIMIT 1`, s.Harbour.ID)
	before := outside(t, s)
	rows := contents(t, s, s.Harbour.ID)
	const viewer = "viewer@harbour-energy.example"
	for _, command := range []string{
		"org set harbour-energy --suspended --reason x --runs 1 --dry-run",
		"org delete harbour-energy --dry-run", "org export harbour-energy --live --dry-run",
		"user delete " + viewer + " --dry-run",
		"user set " + viewer + " --disabled --reason x --password-link --revoke-tokens --dry-run",
		"admin token revoke " + token + " --org harbour-energy --dry-run",
	} {
		if out := operator.Must(t, strings.Fields(command)...); out == "" {
			t.Errorf("%s prints nothing", command)
		}
	}
	if diff := cmp.Diff(before, outside(t, s)) + cmp.Diff(rows, contents(t, s, s.Harbour.ID)); diff != "" {
		t.Errorf("dry runs changed (-before +after):\n%s", diff)
	}
}
