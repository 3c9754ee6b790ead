package start

import "github.com/simplevalidations/simplevalidations/core/db"

// shortLockTimeout bounds the wait of one organization's part of a batch for a lock that the whole batch could not get.
// It is long enough for a commit that is only under way.
const shortLockTimeout = "SET LOCAL lock_timeout = '200ms'"

func queueShortLockTimeout(batch *db.Batch) {
	batch.Queue(shortLockTimeout)
}
