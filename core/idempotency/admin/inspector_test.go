package admin_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
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
			entries, err := inspector.List(t.Context(), org, admin.EntryFilter{}, cursor)
			if err != nil || len(entries) != size+1 {
				t.Fatalf("%s page = %d entries, %v, want %d", name, len(entries), err, size+1)
			}
		}
		// A page and one row more, of both tables.
		if got := (rowsRead(t, database) - before) / executions; got > 3*size {
			t.Errorf("%s page read %d rows, want about %d", name, got, 2*(size+1))
		}
	}
}
