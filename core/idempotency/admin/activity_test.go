package admin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// keyActivity is what is stored about a key.
type keyActivity struct {
	Replays, Mismatches, Conflicts int64
	Replayed, Refused              bool
}

// activityOf reads the activity of a key. The second result is false where there is none.
func activityOf(tb testing.TB, database *db.DB, keyID uuid.UUID) (keyActivity, bool) {
	tb.Helper()
	rows, err := database.Pool.Query(tb.Context(), `
		SELECT replays, mismatches, conflicts, last_replay_at IS NOT NULL, last_refusal_at IS NOT NULL
		FROM key_activity WHERE key_id = $1`, keyID)
	if err != nil {
		tb.Fatalf("read activity: %v", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[keyActivity])
	if err != nil {
		tb.Fatalf("read activity: %v", err)
	}
	if len(found) == 0 {
		return keyActivity{}, false
	}
	return found[0], true
}

func mustFlush(tb testing.TB, activity *admin.Activity, database *db.DB) {
	tb.Helper()
	if n, err := activity.Flush(tb.Context(), database); n != 0 || err != nil {
		tb.Fatalf("flush = %d, %v, want 0 and no error", n, err)
	}
}

// finishedRecord is a key that replays to a request with its own fingerprint.
func finishedRecord(org uuid.UUID) idempotency.Record {
	return idempotency.Record{
		ID: uuid.Must(uuid.NewV7()), Identity: idempotency.Identity{OrgID: org}, Point: idempotency.PointFinished,
		Fingerprint: newClaim(org, "k", "a").Fingerprint,
	}
}

func TestActivity(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	org := uuid.New()
	other := newClaim(org, "k", "b").Fingerprint

	t.Run("CountsEachAnswerByItsKind", func(t *testing.T) {
		t.Parallel()
		activity := admin.NewActivity()
		guard := idempotency.NewGuard(database, time.Hour, nil, activity, metrics.New("").Keys)
		record := finishedRecord(org)
		held := record
		held.Point, held.LockTTL = "started", time.Minute
		_, err := guard.Answer(record, record.Fingerprint)
		checkCode(t, err, "")
		_, err = guard.Answer(record, other)
		checkCode(t, err, api.CodeKeyReused)
		mustFlush(t, activity, database)
		_, err = guard.Answer(held, record.Fingerprint)
		checkCode(t, err, api.CodeKeyInProgress)
		_, err = guard.Answer(record, record.Fingerprint)
		checkCode(t, err, "")
		mustFlush(t, activity, database)
		mustFlush(t, activity, database)
		want := keyActivity{Replays: 2, Mismatches: 1, Conflicts: 1, Replayed: true, Refused: true}
		got, _ := activityOf(t, database, record.ID)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("activity (-want +got):\n%s", diff)
		}
	})

	t.Run("DoesNotCountWhatIsNeitherReplayedNorRefused", func(t *testing.T) {
		t.Parallel()
		activity := admin.NewActivity()
		guard := idempotency.NewGuard(database, time.Hour, nil, activity, metrics.New("").Keys)
		// An abandoned request goes on under its retry.
		abandoned, unknown := finishedRecord(org), finishedRecord(org)
		abandoned.Point = "started"
		unknown.Fingerprint.Version = 9
		_, err := guard.Answer(abandoned, abandoned.Fingerprint)
		checkCode(t, err, api.CodeKeyInProgress)
		_, err = guard.Answer(unknown, other)
		checkCode(t, err, api.CodeUnavailable)
		mustFlush(t, activity, database)
		for _, record := range []idempotency.Record{abandoned, unknown} {
			if got, found := activityOf(t, database, record.ID); found {
				t.Errorf("activity = %+v, want none", got)
			}
		}
	})
}

// TestRepetitionsKeepTheirTimes flushes a replay and a refusal together, after both and in two processes.
func TestRepetitionsKeepTheirTimes(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	clock := func() time.Time { return coretest.One[time.Time](t, database, `SELECT clock_timestamp()`) }
	record := finishedRecord(uuid.New())
	other := newClaim(record.OrgID, "k", "b").Fingerprint
	early, late := admin.NewActivity(), admin.NewActivity()
	repeat := func(activity *admin.Activity) {
		guard := idempotency.NewGuard(database, time.Hour, nil, activity, metrics.New("").Keys)
		_, err := guard.Answer(record, record.Fingerprint)
		checkCode(t, err, "")
		_, err = guard.Answer(record, other)
		checkCode(t, err, api.CodeKeyReused)
	}
	lastOf := func() (time.Time, time.Time) {
		const query = `FROM key_activity WHERE key_id = $1`
		return coretest.One[time.Time](t, database, `SELECT last_replay_at `+query, record.ID),
			coretest.One[time.Time](t, database, `SELECT last_refusal_at `+query, record.ID)
	}

	repeat(early)
	repeat(late)
	after := clock()
	mustFlush(t, late, database)
	replayed, refused := lastOf()
	if replayed.After(after) || refused.After(after) {
		t.Errorf("replayed at %s, refused at %s, want both before %s", replayed, refused, after)
	}
	mustFlush(t, early, database)
	if again, same := lastOf(); again.Before(replayed) || same.Before(refused) {
		t.Errorf("replayed at %s, refused at %s, want the last: %s and %s", again, same, replayed, refused)
	}
}

func TestActivityIsBounded(t *testing.T) {
	t.Parallel()
	const tracked = 100_000
	// So many rows take long on a busy machine.
	database := coretest.ConnectWithin(t, coretest.DatabaseURL(t), time.Second)
	activity := admin.NewActivity()
	guard := idempotency.NewGuard(database, time.Hour, nil, activity, metrics.New("").Keys)
	record := finishedRecord(uuid.New())
	first := record.ID
	for range tracked + 10 {
		_, err := guard.Answer(record, record.Fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		record.ID = uuid.New()
	}
	record.ID = first
	_, err := guard.Answer(record, record.Fingerprint)
	checkCode(t, err, "")
	mustFlush(t, activity, database)
	var rows, replays int64
	err = database.Pool.QueryRow(t.Context(), `SELECT count(*), sum(replays) FROM key_activity`).Scan(&rows, &replays)
	if err != nil {
		t.Fatal(err)
	}
	if rows != tracked || replays != tracked+1 {
		t.Errorf("activity = %d replays of %d keys, want %d of %d: a known key is counted on",
			replays, rows, tracked+1, tracked)
	}
}
