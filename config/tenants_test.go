package config_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
)

func TestSuspendedOrganizationOnlyReads(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.console(t)
	start := s.start(t, "before")
	run := s.started(t, start)
	operator.must(t, "org", "suspend", s.Harbour.Slug, "--reason", "a stolen token")
	for name, c := range map[string]call{
		"Start":  s.start(t, "while"),
		"Replay": start,
		"Cancel": s.cancel(run.ID),
	} {
		if problem := wantProblem(t, s.do(t, c), core.CodeOrganizationSuspended); problem.Retryable {
			t.Errorf("%s: the problem is retryable", name)
		}
	}
	s.must(t, http.StatusOK, call{path: "/api/runs/" + run.ID.String() + "/", token: start.token})
	s.must(t, http.StatusCreated, s.start(t, "").by(s.Tiny.Tokens.Executor))
	s.work(t) // What was accepted is executed.
	if state := one[string](t, s, "SELECT state FROM validation_runs WHERE id = $1", run.ID); state != "COMPLETED" {
		t.Errorf("state of the run = %s, want COMPLETED", state)
	}
	if list := operator.must(t, "org", "list"); !strings.Contains(list, "suspended since") {
		t.Errorf("list = %s, want the suspension", list)
	}
	operator.must(t, "org", "resume", s.Harbour.Slug, "--reason", "new tokens")
	s.must(t, http.StatusCreated, start)
	s.must(t, http.StatusCreated, s.start(t, "while"))
	actions := one[string](t, s, `SELECT string_agg(action || ': ' || detail, ', ' ORDER BY created_at)
		FROM audit_records
		WHERE action IN ('organization.suspend', 'organization.resume')`)
	if want := "organization.suspend: a stolen token, organization.resume: new tokens"; actions != want {
		t.Errorf("audit = %s, want %s", actions, want)
	}
}

func TestDeleteOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.console(t)
	first := s.started(t, s.start(t, "deleted"))
	s.must(t, http.StatusCreated, s.start(t, "deleted"))
	s.work(t)
	s.must(t, http.StatusCreated, call{
		method: http.MethodPost, path: "/api/runs/" + first.ID.String() + "/rerun/", token: s.Harbour.Tokens.Executor,
		header: http.Header{"Idempotency-Key": {"again"}},
	})
	s.must(t, http.StatusCreated, s.start(t, "kept").by(s.Tiny.Tokens.Executor))
	others := tenantRows(t, s, s.Tiny)

	if code, _, complaint := operator.run(t, "org", "delete", s.Harbour.Slug); code != 1 ||
		!strings.Contains(complaint, "suspend the organization first") {
		t.Fatalf("delete of an active organization = %d %s, want it refused", code, complaint)
	}
	operator.must(t, "org", "suspend", s.Harbour.Slug, "--reason", "it left")
	before := tenantRows(t, s, s.Harbour)
	operator.must(t, "org", "delete", s.Harbour.Slug, "--dry-run")
	if diff := cmp.Diff(before, tenantRows(t, s, s.Harbour)); diff != "" {
		t.Errorf("a dry run changed (-before +after):\n%s", diff)
	}
	operator.must(t, "org", "delete", s.Harbour.Slug)
	for table, rows := range tenantRows(t, s, s.Harbour) {
		if rows != 0 {
			t.Errorf("%s has %d rows of the deleted organization", table, rows)
		}
	}
	if diff := cmp.Diff(others, tenantRows(t, s, s.Tiny)); diff != "" {
		t.Errorf("rows of the other organization (-before +after):\n%s", diff)
	}
	s.refused(t, core.CodeNotAuthenticated, s.start(t, "deleted"))
	s.must(t, http.StatusCreated, s.start(t, "kept").by(s.Tiny.Tokens.Executor))
	if n := one[int](t, s, `SELECT count(*)::int FROM audit_records
		WHERE action = 'organization.delete' AND target_id = $1`, s.Harbour.ID.String()); n != 1 {
		t.Errorf("audit records of the deletion = %d, want 1", n)
	}
	// What a late request has left is deleted by the id.
	s.exec(t, `INSERT INTO key_activity (org_id, key_id) VALUES ($1, $1)`, s.Harbour.ID)
	operator.must(t, "org", "delete", s.Harbour.ID.String())
	if rows := tenantRows(t, s, s.Harbour)["key_activity"]; rows != 0 {
		t.Errorf("rows that were left = %d, want 0", rows)
	}
}

// A deletion that is killed anywhere is finished by the next one.
func TestDeleteOrganizationAfterEveryKill(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.console(t)
	s.started(t, s.start(t, "deleted"))
	s.work(t)
	operator.must(t, "org", "suspend", s.Harbour.Slug, "--reason", "it left")
	for _, table := range config.TenantTables() {
		// A trigger ends the statement on this table, as the end of the process would.
		s.exec(t, `CREATE FUNCTION kill_`+table+`() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'killed at `+table+`'; END $$`)
		s.exec(t, `CREATE TRIGGER kill BEFORE DELETE ON `+table+` FOR EACH STATEMENT EXECUTE FUNCTION kill_`+table+`()`)
		code, _, complaint := operator.run(t, "org", "delete", s.Harbour.Slug)
		if code != 1 || !strings.Contains(complaint, "killed at "+table) {
			t.Fatalf("delete = %d %s, want it to end at %s", code, complaint, table)
		}
		s.exec(t, `DROP TRIGGER kill ON `+table)
	}
	operator.must(t, "org", "delete", s.Harbour.Slug)
	for table, rows := range tenantRows(t, s, s.Harbour) {
		if rows != 0 {
			t.Errorf("%s has %d rows of the deleted organization", table, rows)
		}
	}
}

// tenantRows counts the rows of an organization in every table that has some of organizations.
func tenantRows(tb testing.TB, s *stage, org config.DemoOrg) map[string]int {
	tb.Helper()
	rows, err := s.db.Pool.Query(tb.Context(), `SELECT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'org_id' ORDER BY table_name`)
	if err != nil {
		tb.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	if deleted := config.AllTenantTables(); !slices.Equal(deleted, tables) {
		tb.Errorf("tables of a deletion = %v, want all with rows of organizations: %v", deleted, tables)
	}
	counts := make(map[string]int)
	for _, table := range tables {
		counts[table] = one[int](tb, s, "SELECT count(*)::int FROM "+table+" WHERE org_id = $1", org.ID)
	}
	return counts
}

// must runs a command that has to succeed, and returns what it prints.
func (c console) must(tb testing.TB, args ...string) string {
	tb.Helper()
	code, out, complaint := c.run(tb, args...)
	if code != 0 {
		tb.Fatalf("%v = %d, %s", args, code, complaint)
	}
	return out
}

func TestDeleteUser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.console(t)
	const viewer, owner = "viewer@harbour-energy.example", "owner@harbour-energy.example"
	if list := operator.must(t, "user", "list"); !strings.Contains(list, viewer) {
		t.Errorf("list = %s, want %s", list, viewer)
	}
	read := call{path: "/api/me/", token: s.Harbour.Tokens.Viewer}
	s.must(t, http.StatusOK, read)
	operator.must(t, "user", "delete", viewer)
	s.refused(t, core.CodeNotAuthenticated, read)
	if n := one[int](t, s, `SELECT count(*)::int FROM users WHERE email = $1`, viewer); n != 0 {
		t.Errorf("users = %d, want 0", n)
	}
	if code, _, complaint := operator.run(t, "user", "delete", viewer); code != 1 ||
		!strings.Contains(complaint, "no user") {
		t.Errorf("delete again = %d %s, want no user", code, complaint)
	}
	if code, _, complaint := operator.run(t, "user", "delete", owner); code != 1 ||
		!strings.Contains(complaint, "last_owner") || strings.Contains(complaint, "SQLSTATE") {
		t.Errorf("delete of the last owner = %d %s, want it refused without SQL", code, complaint)
	}
	s.must(t, http.StatusOK, call{path: "/api/me/", token: s.Harbour.Tokens.Owner})
}
