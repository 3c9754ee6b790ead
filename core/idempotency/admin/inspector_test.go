package admin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
)

// TestListReadsAPageAndNoMore bounds the cost of a page where an organization has many keys. It runs the statement
// several times, because the server may plan a prepared statement anew after some executions.
func TestListReadsAPageAndNoMore(t *testing.T) {
	t.Parallel()
	const keys, size, executions = 20_000, 50, 8
	database := openSingle(t)
	insertKeys(t, database, keys, time.Hour)
	var org, middle uuid.UUID
	err := database.Pool.QueryRow(t.Context(), `
		SELECT org_id, id FROM idempotency_keys ORDER BY id OFFSET $1 LIMIT 1`, keys/2).Scan(&org, &middle)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, database, `
		INSERT INTO key_activity (org_id, key_id, replays) SELECT org_id, id, 1 FROM idempotency_keys`)
	mustExec(t, database, `ANALYZE idempotency_keys, key_activity`)
	inspector := admin.NewInspector(database, 20, nil)
	for name, cursor := range map[string]core.Cursor{
		"first": {Size: size}, "next": {ID: middle, Size: size}, "previous": {ID: middle, Backward: true, Size: size},
	} {
		before := rowsRead(t, database)
		for range executions {
			page, err := inspector.List(t.Context(), org, admin.EntryFilter{}, cursor)
			if err != nil || len(page.Found) != size+1 {
				t.Fatalf("%s page = %d entries, %v, want %d", name, len(page.Found), err, size+1)
			}
		}
		// A page and one row more, of both tables.
		if got := (rowsRead(t, database) - before) / executions; got > 3*size {
			t.Errorf("%s page read %d rows, want about %d", name, got, 2*(size+1))
		}
	}
}

// claimUnfinished claims a key whose request has further phases, and ends its lock that many seconds ago.
func claimUnfinished(t *testing.T, database *db.DB, claim idempotency.Claim, seconds int) uuid.UUID {
	t.Helper()
	claim.Response, claim.Point, claim.Lock = idempotency.Response{}, "begun", time.Hour
	id := mustClaim(t, database, claim)
	mustExec(t, database, `UPDATE idempotency_keys SET locked_until = now() - make_interval(secs => $2) WHERE id = $1`,
		id, seconds)
	return id
}

func TestStuckEverywhere(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	org, other := uuid.New(), uuid.New()
	mustClaim(t, database, newClaim(org, "finished", "a"))
	claimUnfinished(t, database, newClaim(org, "in progress", "a"), -3600)
	first := claimUnfinished(t, database, newClaim(other, "first", "a"), 20)
	second := claimUnfinished(t, database, newClaim(org, "second", "a"), 10)
	third := claimUnfinished(t, database, newClaim(org, "third", "a"), 5)
	mustExec(t, database, `UPDATE idempotency_keys SET attempts = 3, last_error = 'down' WHERE id = $1`, second)

	want := []admin.StuckKey{
		{OrgID: other, ID: first, Key: "first", Endpoint: "test"},
		{OrgID: org, ID: second, Key: "second", Endpoint: "test", Attempts: 3, LastError: "down", Dead: true},
		{OrgID: org, ID: third, Key: "third", Endpoint: "test"},
	}
	inspector := admin.NewInspector(database, 3, nil)
	for limit, want := range map[int][]admin.StuckKey{2: want[:2], 10: want} {
		got, err := inspector.StuckEverywhere(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(admin.StuckKey{}, "CreatedAt")); diff != "" {
			t.Errorf("stuck keys up to %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestRunsStartedWith(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	// The runs do not exist.
	mustExec(t, database, `ALTER TABLE idempotency_keys DROP CONSTRAINT fk_idempotency_keys_run`)
	org, run := uuid.New(), uuid.New()
	started, foreign := newClaim(org, "k", "a"), newClaim(uuid.New(), "k", "a")
	started.Subject, foreign.Subject = run, uuid.New()
	without := newClaim(org, "k", "b")
	without.Endpoint = "other"
	for _, claim := range []idempotency.Claim{started, foreign, without} {
		mustClaim(t, database, claim)
	}
	got, err := admin.NewInspector(database, 1, nil).RunsStartedWith(t.Context(), org, "k")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uuid.UUID{run}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
