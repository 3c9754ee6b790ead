package requestlog_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// insert adds a request for each of the ages, named by its place in the list.
func insert(tb testing.TB, database *db.DB, org uuid.UUID, ages ...time.Duration) {
	tb.Helper()
	for i, age := range ages {
		at := time.Now().Add(-age)
		// The id begins with the time, and the rest of it tells equal times apart.
		id := core.FirstIDAt(at)
		id[15] = byte(i)
		_, err := database.Pool.Exec(tb.Context(), `
			INSERT INTO request_log (org_id, id, at, took_us, method, path, status, request_id, headers, body_size)
			VALUES ($1, $2, $3, 1, 'POST', '/', 201, $4::text, '[]', 0)`, org, id, at, string(rune('a'+i)))
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// kept names the requests of an organization that are left, newest first.
func kept(tb testing.TB, database *db.DB, org uuid.UUID) string {
	tb.Helper()
	return coretest.One[string](tb, database, `
		SELECT coalesce(string_agg(request_id, '' ORDER BY id DESC), '') FROM request_log WHERE org_id = $1`, org)
}

func TestPurge(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, tt := range map[string]struct {
		limits      requestlog.Limits
		large, tiny string
		deleted     int64
	}{
		"ByAge":        {requestlog.Limits{Age: 4 * hour, Count: 100, Batch: 100}, "abc", "a", 3},
		"ByCount":      {requestlog.Limits{Age: 100 * hour, Count: 2, Batch: 100}, "ab", "ab", 3},
		"ByBoth":       {requestlog.Limits{Age: 2 * hour, Count: 3, Batch: 100}, "ab", "a", 4},
		"InBatches":    {requestlog.Limits{Age: 4 * hour, Count: 100, Batch: 1}, "abc", "a", 3},
		"KeepsForEver": {requestlog.Limits{Count: 100, Batch: 100}, "abcde", "ab", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := coretest.OpenDatabase(t)
			large, tiny := uuid.New(), uuid.New()
			insert(t, database, large, hour/2, hour, 3*hour, 5*hour, 6*hour)
			insert(t, database, tiny, hour/2, 50*hour)
			deleted, err := requestlog.Purge(t.Context(), database, tt.limits)
			if err != nil {
				t.Fatal(err)
			}
			got := [2]string{kept(t, database, large), kept(t, database, tiny)}
			if diff := cmp.Diff([2]string{tt.large, tt.tiny}, got); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			if deleted != tt.deleted {
				t.Errorf("deleted = %d, want %d", deleted, tt.deleted)
			}
		})
	}
}

// Counts of refusals are kept for as many days as are shown.
func TestPurgeOfRefusals(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	_, err := database.Pool.Exec(t.Context(), `
		INSERT INTO refusal_days (org_id, day, code, starts)
		SELECT gen_random_uuid(), (now() AT TIME ZONE 'UTC')::date - ago, 'quota_exceeded', 1
		FROM unnest(ARRAY[0, 29, 30, 31]) AS ago`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := requestlog.Purge(t.Context(), database, requestlog.Limits{Count: 1, Batch: 1}); err != nil {
		t.Fatal(err)
	}
	got := coretest.One[string](t, database, `
		SELECT string_agg(((now() AT TIME ZONE 'UTC')::date - day)::text, ' ' ORDER BY day DESC) FROM refusal_days`)
	if got != "0 29" {
		t.Errorf("kept days = %s, want today and 29 days ago", got)
	}
}
