package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// purgeTimeout bounds one batch.
const purgeTimeout = 30 * time.Second

// Purge deletes the keys that are expired and finished, by the database's clock, and returns how many. A key that is
// not finished is never deleted, because its request is still to be resumed.
//
// Every batch, of the given number of keys at most, is a transaction of its own, so no lock is held for long. Rows that
// another transaction has locked are skipped: several purges can work at once, and none delays a request that takes
// over an expired key. After an error the count still says how many keys were deleted.
func Purge(ctx context.Context, database *db.DB, batch int) (int64, error) {
	if batch < 1 {
		return 0, fmt.Errorf("purge expired keys: the batch is %d, want at least 1", batch)
	}
	var from *time.Time
	deleted, err := db.Batches(ctx, batch, func(ctx context.Context) (int64, error) {
		deleted, err := deleteExpired(ctx, database, from, batch)
		from = deleted.last
		return deleted.count, err
	})
	if err != nil {
		return deleted, fmt.Errorf("purge expired keys: %w", err)
	}
	return deleted, nil
}
