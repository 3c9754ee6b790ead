package idempotency_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// TestCensus holds the counts, and that counting does not read the keys of which there are many.
func TestCensus(t *testing.T) {
	t.Parallel()
	const keys, maxAttempts = 20_000, 20
	db := single(t)
	insertKeys(t, db, keys, time.Hour, true)
	for _, statement := range []string{
		// Six unfinished ones: held, held for long, abandoned twice, and dead twice.
		`WITH few AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM idempotency_keys LIMIT 6)
		UPDATE idempotency_keys AS k SET recovery_point = 'begun', finished_at = NULL, response_status = NULL,
			response_headers = NULL, response_body = NULL,
			created_at = now() - n * interval '1 minute',
			locked_until = now() + CASE WHEN n <= 2 THEN interval '1 hour' ELSE interval '-1 second' END,
			attempts = CASE WHEN n > 4 THEN 20 ELSE 19 END
		FROM few WHERE few.id = k.id`,
		`ANALYZE idempotency_keys`,
	} {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}

	before := rowsRead(t, db)
	census, err := idempotency.NewInspector(db, maxAttempts, nil).Census(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsRead(t, db) - before; got > 10 {
		t.Errorf("rows read = %d, want the 6 unfinished ones", got)
	}
	want := map[idempotency.State]int64{
		idempotency.StateInProgress: 2, idempotency.StateAbandoned: 2, idempotency.StateDead: 2,
		idempotency.StateFinished: keys - 6,
	}
	if diff := cmp.Diff(want, census.ByState); diff != "" {
		t.Errorf("keys by state (-want +got):\n%s", diff)
	}
	if oldest := census.OldestUnfinished.Round(time.Minute); oldest != 4*time.Minute {
		t.Errorf("oldest = %v, want the 4 minutes of the oldest that is not dead", oldest)
	}
}
