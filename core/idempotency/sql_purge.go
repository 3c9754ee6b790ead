package idempotency

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// deletion is how many keys a batch has deleted, and when the last of them had expired.
type deletion struct {
	count int64
	last  *time.Time
}

// deleteExpired deletes keys that expired at from or later. Without from, each batch would scan the index entries of
// all rows that the batches before have deleted. Deleting by ctid keeps the planner from choosing another way.
//
// The commit does not wait for the disk. If a crash of the server brings a key back, it is still expired, and is purged
// again. A claim in its place is written to the disk after the deletion.
func deleteExpired(ctx context.Context, database *db.DB, from *time.Time, size int) (deletion, error) {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	deleted, err := db.InBatch(ctx, database, func(batch *db.Batch) *db.Future[deletion] {
		batch.Queue("SET LOCAL synchronous_commit = off")
		return db.QueueInto(batch, readDeletion, `
			WITH deleted AS (
				DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
					SELECT ctid FROM idempotency_keys
					WHERE expires_at >= coalesce($1::timestamptz, '-infinity') AND expires_at <= now()
						AND recovery_point = $2
					ORDER BY expires_at LIMIT $3
					FOR UPDATE SKIP LOCKED))
				RETURNING expires_at
			)
			SELECT count(*), max(expires_at) FROM deleted`, from, PointFinished, size)
	})
	if err != nil {
		return deletion{}, err
	}
	return deleted.Get()
}

func readDeletion(rows pgx.Rows) (deletion, error) {
	return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (deletion, error) {
		var d deletion
		err := row.Scan(&d.count, &d.last)
		return d, err
	})
}
