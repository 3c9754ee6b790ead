package admin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
)

// TestKeyCounts also checks that counting does not read the finished keys, of which there are many.
func TestKeyCounts(t *testing.T) {
	t.Parallel()
	const keys, maxAttempts = 20_000, 20
	database := openSingle(t)
	insertKeys(t, database, keys, time.Hour)
	// Six unfinished ones: two in progress, two abandoned and two dead.
	mustExec(t, database, `
		WITH few AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM idempotency_keys LIMIT 6)
		UPDATE idempotency_keys AS k SET recovery_point = 'begun', finished_at = NULL, response_status = NULL,
			response_headers = NULL, response_body = NULL,
			created_at = now() - n * interval '1 minute',
			locked_until = now() + CASE WHEN n <= 2 THEN interval '1 hour' ELSE interval '-1 second' END,
			attempts = CASE WHEN n > 4 THEN 20 ELSE 19 END
		FROM few WHERE few.id = k.id`)
	mustExec(t, database, `ANALYZE idempotency_keys`)

	before := rowsRead(t, database)
	counts, err := admin.NewInspector(database, maxAttempts, nil).KeyCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsRead(t, database) - before; got > 10 {
		t.Errorf("rows read = %d, want the 6 unfinished ones", got)
	}
	want := map[api.KeyState]int64{
		api.KeyStateInProgress: 2, api.KeyStateAbandoned: 2, api.KeyStateDead: 2,
		api.KeyStateFinished: keys - 6,
	}
	if diff := cmp.Diff(want, counts.ByState); diff != "" {
		t.Errorf("keys by state (-want +got):\n%s", diff)
	}
	if oldest := counts.OldestUnfinished.Round(time.Minute); oldest != 4*time.Minute {
		t.Errorf("oldest = %v, want the 4 minutes of the oldest that is not dead", oldest)
	}
}
