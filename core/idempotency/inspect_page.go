package idempotency

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// keysReport is everything that the page of keys shows. The entries are one page of them and one more.
type keysReport struct {
	entries []Entry
	days    []Day
	stuck   int64
	unkeyed WithoutKey
}

// keysReport reads what the page of keys shows, in one round trip.
func (a *App) keysReport(
	ctx context.Context, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor,
) (keysReport, error) {
	var found keysReport
	var reads core.Reads
	a.inspector.queueEntries(&reads, orgID, filter, cursor, &found.entries)
	queueLatestDays(&reads, orgID, &found.days)
	queueStuck(&reads, orgID, &found.stuck)
	a.unkeyed.QueueWithoutKey(&reads, orgID, &found.unkeyed)
	if err := a.inspector.db.Read(ctx, &reads); err != nil {
		return keysReport{}, fmt.Errorf("read the page of keys: %w", err)
	}
	return found, nil
}
