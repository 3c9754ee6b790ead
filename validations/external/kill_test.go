package external

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

// The process is killed behind each statement that encrypts a key anew: all secrets can be read meanwhile, and the next
// process ends what the last one began.
func TestResealAfterEveryKill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	oldKey, newKey := keyring.Generate(), keyring.Generate()
	before, during, after := b.with(t, oldKey), b.with(t, newKey, oldKey), b.with(t, newKey)
	ids := b.organizations(t, before, 105)
	for _, id := range ids {
		if err := before.Rotate(t.Context(), core.Principal{OrgID: id}); err != nil {
			t.Fatal(err)
		}
	}
	want := storedKeys(t, before)

	// From some statement on all fail, as those of a process that is gone would. A sequence also counts those that are
	// undone.
	b.exec(t, `CREATE SEQUENCE statements`)
	b.exec(t, `CREATE TABLE killed_behind (statement bigint)`)
	b.exec(t, `INSERT INTO killed_behind VALUES (0)`)
	b.exec(t, `CREATE FUNCTION kill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('statements') >= (SELECT statement FROM killed_behind) THEN RAISE EXCEPTION 'killed'; END IF;
		RETURN NULL; END $$`)
	b.exec(t, `CREATE TRIGGER kill AFTER UPDATE ON signing_keys FOR EACH STATEMENT EXECUTE FUNCTION kill()`)
	b.exec(t, `CREATE TRIGGER kill AFTER INSERT ON audit_records FOR EACH STATEMENT EXECUTE FUNCTION kill()`)
	kills := 0
	for killed := true; killed; kills++ {
		b.exec(t, `UPDATE killed_behind SET statement = $1`, kills+1)
		b.exec(t, `ALTER SEQUENCE statements RESTART`)
		_, err := during.reseal(t.Context())
		if killed = err != nil; killed && !strings.Contains(err.Error(), "killed") {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, storedKeys(t, during)); diff != "" {
			t.Fatalf("keys after the kill behind statement %d (-before +after):\n%s", kills+1, diff)
		}
	}
	if kills <= 100 {
		t.Errorf("killed %d times, want it behind each statement", kills)
	}
	if diff := cmp.Diff(want, storedKeys(t, after)); diff != "" {
		t.Errorf("keys under the new key alone (-before +after):\n%s", diff)
	}
	if n := coretest.One[int64](t, b.db, `SELECT count(*) FROM audit_records
		WHERE action = 'signing_secret.reencrypt'`); n != int64(len(ids)) {
		t.Errorf("audit records = %d, want one for each of %d organizations", n, len(ids))
	}
}

// storedKeys reads the keys of all organizations.
func storedKeys(tb testing.TB, keys *Keys) map[uuid.UUID][2]string {
	tb.Helper()
	rows, err := keys.db.Pool.Query(tb.Context(), `SELECT org_id, sealed, sealed_previous FROM signing_keys`)
	if err != nil {
		tb.Fatal(err)
	}
	all := make(map[uuid.UUID][2]string)
	var row sealedKeys
	if _, err := pgx.ForEachRow(rows, []any{&row.orgID, &row.current, &row.previous}, func() error {
		opened, err := keys.open(row)
		all[row.orgID] = [2]string{string(opened.current), string(opened.previous)}
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	return all
}
