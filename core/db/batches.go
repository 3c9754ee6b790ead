package db

import (
	"context"
	"time"
)

// The pause after a batch of a purge is a multiple of the time that the batch took. It leaves nine tenths of one
// processor and of the disk to the requests, and more the slower the database is. The pause is bounded, so that a purge
// deletes faster than keys expire also on a busy database.
const (
	pauseShare   = 9
	longestPause = 100 * time.Millisecond
)

// Batches runs the batches of a purge, with a pause after each, until one deletes less than size. It returns how much
// they deleted, also beside an error.
func Batches(ctx context.Context, size int, batch func(context.Context) (int64, error)) (int64, error) {
	var total int64
	for {
		began := time.Now()
		deleted, err := batch(ctx)
		total += deleted
		if err != nil || deleted < int64(size) {
			return total, err
		}
		pause := time.NewTimer(min(pauseShare*time.Since(began), longestPause))
		select {
		case <-ctx.Done():
			pause.Stop()
			return total, context.Cause(ctx)
		case <-pause.C:
		}
	}
}
