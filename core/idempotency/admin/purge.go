package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// hoursKept is how long the hours of starts are kept. It is longer than any page shows, for operators who ask with SQL.
const hoursKept = 8 * 24 * time.Hour

// Purge deletes expired keys as idempotency.Purge does, and then the activity of keys that are gone: purged, released,
// or taken over under a new id. It also deletes days and hours that are no longer kept. It returns how many keys were
// deleted, also beside an error.
func Purge(ctx context.Context, database *db.DB, batch int) (int64, error) {
	deleted, err := idempotency.Purge(ctx, database, batch)
	if err != nil {
		return deleted, err
	}
	if err := purgeOrphans(ctx, database, purgeActivity, batch); err != nil {
		return deleted, fmt.Errorf("purge the activity of keys: %w", err)
	}
	if err := purgeOrphans(ctx, database, purgeEvents, batch); err != nil {
		return deleted, fmt.Errorf("purge the events of keys: %w", err)
	}
	return deleted, purgePeriods(ctx, database)
}
