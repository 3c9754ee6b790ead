package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// purgeTimeout bounds one batch.
const purgeTimeout = 30 * time.Second

// The pause after a batch of a purge is a multiple of the time that the batch took. It leaves nine tenths of one
// processor and of the disk to the requests, and more the slower the database is. The pause is bounded, so that a purge
// deletes faster than keys expire also on a busy database.
const (
	pauseShare   = 9
	longestPause = 100 * time.Millisecond
)

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
	var total int64
	var from *time.Time
	for {
		began := time.Now()
		deleted, err := deleteExpired(ctx, database, from, batch)
		if err != nil {
			return total, fmt.Errorf("purge expired keys: %w", err)
		}
		if deleted.count == 0 {
			return total, nil
		}
		total += deleted.count
		from = deleted.last
		if err := PauseAfter(ctx, time.Since(began)); err != nil {
			return total, fmt.Errorf("purge expired keys: %w", err)
		}
	}
}

// PauseAfter waits after a batch of a purge that took the given time. The error is why the context has ended.
func PauseAfter(ctx context.Context, took time.Duration) error {
	timer := time.NewTimer(min(pauseShare*took, longestPause))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
