package archive_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// Anybody can write an archive and name anybody in it. People who have an account are asked, and its tokens do not act
// as them.
func TestImportAsksPeopleWhoExist(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	_, file := exported(t, from)
	to.forget(t)
	const owner = "owner@harbour-energy.example"
	there := to.Console(t)
	if shown := there.Must(t, "org", "import", file, "--dry-run"); !strings.Contains(shown, owner+" has an account") {
		t.Errorf("dry run = %s, want it to name %s", shown, owner)
	}
	// It asks again if it has been interrupted.
	to.Exec(t, `CREATE FUNCTION kill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'killed'; END $$`)
	to.Exec(t, `CREATE TRIGGER kill BEFORE INSERT ON audit_records FOR EACH ROW EXECUTE FUNCTION kill()`)
	if code, _, complaint := there.Run(t, "org", "import", file); code != 1 || !strings.Contains(complaint, "killed") {
		t.Fatalf("import = %d %s, want it killed", code, complaint)
	}
	to.Exec(t, `DROP TRIGGER kill ON audit_records`)
	there.Must(t, "org", "import", file)
	there.Must(t, "org", "set", to.Harbour.Slug, "--suspended=false", "--reason", "it has moved")
	to.Refused(t, api.CodeNotAuthenticated, call{Path: "/api/me/", Token: from.Harbour.Tokens.Owner})
	userID := dbtest.One[uuid.UUID](t, to.DB, `SELECT id FROM users WHERE email = $1`, owner)
	if role := to.RoleOf(t, userID); role != "" {
		t.Errorf("role of %s = %s before the invitation is accepted, want none", owner, role)
	}
	id := dbtest.One[string](t, to.DB, `SELECT id::text FROM invitations WHERE email = $1 AND state = 'open'`, owner)
	if err := to.Users.SetMembership(t.Context(), to.Tiny.ID, userID, api.RoleOwner); err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(there.Must(t, "admin", "token", "create", "--org", to.Tiny.Slug,
		"--user", owner, "--role", "owner"))
	to.Must(t, http.StatusOK, call{
		Method: http.MethodPost, Path: "/api/invitations/" + id + "/accept/", Token: token,
	})
	if role := to.RoleOf(t, userID); role != api.RoleOwner {
		t.Errorf("role of %s = %q after the invitation was accepted, want owner", owner, role)
	}
}

// The operator may answer for an archive.
func TestImportTrustsTheOperator(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	_, file := exported(t, from)
	to.forget(t)
	to.Console(t).Must(t, "org", "import", file, "--trust")
	to.Must(t, http.StatusOK, call{Path: "/api/me/", Token: from.Harbour.Tokens.Owner})
}

// The ids of an archive are those of another installation, so a person is never found by one.
func TestImportFindsNobodyByID(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	_, file := exported(t, from)
	to.lose(t, to.Harbour)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	user, victim := `{"id":"`+dbtest.One[string](t, from.DB, `SELECT id::text FROM users
		WHERE email = 'owner@harbour-energy.example'`), dbtest.One[uuid.UUID](t, to.DB, `SELECT id FROM users
		WHERE email = 'owner@tiny-quota.example'`)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	lines = lines[:len(lines)-1]
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], user[len(`{"id":"`):], victim.String())
	}
	before := outside(t, to)
	to.Console(t).Must(t, "org", "import", sealed(t, lines), "--trust")
	if role := to.RoleOf(t, victim); role != "" {
		t.Errorf("role of the user with the id = %s, want none", role)
	}
	if after := outside(t, to); after["users"] != before["users"] {
		t.Errorf("other users = %s, want %s", after["users"], before["users"])
	}
}

// forget deletes harbour, and leaves its people their accounts.
func (s *stage) forget(tb testing.TB) {
	tb.Helper()
	s.Exec(tb, `UPDATE organizations SET suspended_at = now() WHERE id = $1`, s.Harbour.ID)
	s.Console(tb).Must(tb, "org", "delete", s.Harbour.ID.String())
}
