package idempotency

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
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
	var reads db.Reads
	a.inspector.queueEntries(&reads, orgID, filter, cursor, &found.entries)
	queueLatestDays(&reads, orgID, &found.days)
	queueStuck(&reads, orgID, &found.stuck)
	a.unkeyed.QueueWithoutKey(&reads, orgID, &found.unkeyed)
	if err := a.inspector.db.Read(ctx, &reads); err != nil {
		return keysReport{}, fmt.Errorf("read the page of keys: %w", err)
	}
	return found, nil
}

// keyReport is everything that the page of one key shows.
type keyReport struct {
	entry Entry
	first request
	// responses has the one that the key replays. It is empty where there is none or the visitor may not see it.
	responses []storedResponse
}

// keyReport reads what the page of one key shows, in one round trip.
func (a *App) keyReport(ctx context.Context, principal core.Principal, id uuid.UUID) (keyReport, error) {
	var found keyReport
	var reads db.Reads
	a.inspector.queueEntry(&reads, principal.OrgID, id, &found.entry)
	queueOrigin(&reads, principal.OrgID, id, &found.first)
	// What clients have been answered is for those alone who answer for the organization.
	if principal.Role.Allows(core.RoleAdmin) {
		queueResponse(&reads, principal.OrgID, id, &found.responses)
	}
	err := a.inspector.readKey(ctx, &reads, id)
	return found, err
}
