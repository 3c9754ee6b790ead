package start

import "github.com/simplevalidations/simplevalidations/core/db"

// The statements that bound how long a commit waits for a lock.
const (
	// usualLockTimeout is that of every transaction.
	usualLockTimeout = ""
	// shortLockTimeout is for one organization's part of a batch, whose lock the whole batch could not get. A process
	// that is stuck in the middle of its own batch holds up many organizations, and the others wait until each was
	// tried. It is long enough for a commit that is only under way.
	shortLockTimeout = "SET LOCAL lock_timeout = '200ms'"
)

func queueLockTimeout(batch *db.Batch, statement string) {
	if statement != usualLockTimeout {
		batch.Queue(statement)
	}
}
