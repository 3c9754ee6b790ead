package admin

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// writeCounts adds the counts to their tables in one transaction. Each statement sorts its rows, because two processes
// that upsert the same rows in different orders would deadlock.
func writeCounts(ctx context.Context, database *db.DB, taken *counts) error {
	return db.Do(ctx, database, func(tx db.Tx) error {
		batch := tx.NewBatch()
		upsertKeys(batch, slices.Collect(maps.Values(taken.keys)))
		upsertDays(batch, slices.Collect(maps.Values(taken.days)))
		upsertHours(batch, slices.Collect(maps.Values(taken.hours)))
		return batch.Send(ctx)
	})
}

// upsertKeys adds the repetitions of each key. The key may be gone by now; Purge then deletes its row. The time of a
// repetition is the database's now() less its age. The transaction has begun, so the age is read after now() and the
// time is never after the repetition; greatest keeps a later one that another process has written.
func upsertKeys(batch *db.Batch, counted []keyCounts) {
	batch.Queue(`
		INSERT INTO key_activity AS a (org_id, key_id, replays, mismatches, conflicts, last_replay_at, last_refusal_at)
		SELECT org_id, key_id, replays, mismatches, conflicts, now() - make_interval(secs => replayed),
			now() - make_interval(secs => refused)
		FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::float8[], $7::float8[])
			AS c (org_id, key_id, replays, mismatches, conflicts, replayed, refused)
		ORDER BY org_id, key_id
		ON CONFLICT ON CONSTRAINT key_activity_pkey DO UPDATE SET replays = a.replays + excluded.replays,
			mismatches = a.mismatches + excluded.mismatches, conflicts = a.conflicts + excluded.conflicts,
			last_replay_at = greatest(excluded.last_replay_at, a.last_replay_at),
			last_refusal_at = greatest(excluded.last_refusal_at, a.last_refusal_at)`,
		db.Column(counted, func(k *keyCounts) *uuid.UUID { return &k.orgID }),
		db.Column(counted, func(k *keyCounts) *uuid.UUID { return &k.id }),
		db.Column(counted, func(k *keyCounts) int64 { return k.replays }),
		db.Column(counted, func(k *keyCounts) int64 { return k.mismatches }),
		db.Column(counted, func(k *keyCounts) int64 { return k.conflicts }),
		db.Column(counted, func(k *keyCounts) *float64 { return age(k.lastReplay) }),
		db.Column(counted, func(k *keyCounts) *float64 { return age(k.lastRefusal) }))
}

// age is how many seconds ago a time was; nil for the zero time.
func age(at time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	seconds := time.Since(at).Seconds()
	return &seconds
}

// upsertDays adds to the day on which the counts are written, by the clock of the database.
func upsertDays(batch *db.Batch, counted []dayCounts) {
	batch.Queue(`
		INSERT INTO key_activity_days AS a (org_id, day, replayed, in_progress, reused, misnamed)
		SELECT org_id, now() AT TIME ZONE 'UTC', replayed, in_progress, reused, misnamed
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
			AS c (org_id, replayed, in_progress, reused, misnamed)
		ORDER BY org_id
		ON CONFLICT ON CONSTRAINT key_activity_days_pkey DO UPDATE SET replayed = a.replayed + excluded.replayed,
			in_progress = a.in_progress + excluded.in_progress, reused = a.reused + excluded.reused,
			misnamed = a.misnamed + excluded.misnamed`,
		db.Column(counted, func(d *dayCounts) *uuid.UUID { return &d.orgID }),
		db.Column(counted, func(d *dayCounts) int64 { return d.replayed }),
		db.Column(counted, func(d *dayCounts) int64 { return d.inProgress }),
		db.Column(counted, func(d *dayCounts) int64 { return d.reused }),
		db.Column(counted, func(d *dayCounts) int64 { return d.misnamed }))
}

// upsertHours adds the counts to those of the hour in which they are written. An array of arrays cannot be a parameter
// of unnest by rows, so all buckets travel in one flat array and are sliced by the row's number.
func upsertHours(batch *db.Batch, counted []*hourCounts) {
	took := make([]int64, 0, len(counted)*buckets())
	for _, hour := range counted {
		took = append(took, hour.took...)
	}
	batch.Queue(`
		INSERT INTO start_hours AS h (org_id, hour, replays, took)
		SELECT org_id, date_trunc('hour', now(), 'UTC'), replays,
			($3::bigint[])[(n::integer - 1) * $4::integer + 1 : n::integer * $4::integer]
		FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS c (org_id, replays, n)
		ORDER BY org_id
		ON CONFLICT ON CONSTRAINT start_hours_pkey DO UPDATE SET replays = h.replays + excluded.replays,
			took = ARRAY(SELECT b.before + b.added
				FROM unnest(h.took, excluded.took) WITH ORDINALITY AS b (before, added, bucket) ORDER BY b.bucket)`,
		db.Column(counted, func(h **hourCounts) *uuid.UUID { return &(*h).orgID }),
		db.Column(counted, func(h **hourCounts) int64 { return (*h).replays }),
		took, buckets())
}
