package idempotency

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// hourTally is what an organization's starts came to since the last flush.
type hourTally struct {
	orgID   uuid.UUID
	replays int64
	// took counts new starts: one count for each of metrics.StartBounds, and one beyond the last.
	took []int64
}

func newHourTally(orgID uuid.UUID) *hourTally {
	return &hourTally{orgID: orgID, took: make([]int64, buckets())}
}

func buckets() int { return len(metrics.StartBounds()) + 1 }

// bucketOf is the place of a duration among the counts.
func bucketOf(took time.Duration) int {
	bucket, _ := slices.BinarySearch(metrics.StartBounds(), took)
	return bucket
}

func (h *hourTally) add(other *hourTally) {
	h.replays += other.replays
	for bucket, n := range other.took {
		h.took[bucket] += n
	}
}

// queueHours adds the counts to those of the hour in which they are written. Arrays of arrays have no form of their own
// as parameters, so the counts of all travel in one row and are cut apart again.
func queueHours(batch *db.Batch, counted []*hourTally) {
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
		db.Column(counted, func(h **hourTally) uuid.UUID { return (*h).orgID }),
		db.Column(counted, func(h **hourTally) int64 { return (*h).replays }),
		took, buckets())
}
