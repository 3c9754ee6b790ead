package admin

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// keysReport is everything that the page of keys shows. entries has one entry more than the page.
type keysReport struct {
	entries []Entry
	days    []Day
	stuck   int64
	unkeyed UnkeyedRuns
}

// keysReport reads what the page of keys shows, in one round trip.
func (a *App) keysReport(
	ctx context.Context, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor,
) (keysReport, error) {
	var found keysReport
	var reads db.Reads
	a.inspector.queueEntries(&reads, orgID, filter, cursor, &found.entries)
	queueDays(&reads, orgID, &found.days)
	queueStuck(&reads, orgID, &found.stuck)
	a.unkeyed.QueueUnkeyedRuns(&reads, orgID, &found.unkeyed)
	if err := a.inspector.db.Read(ctx, &reads); err != nil {
		return keysReport{}, fmt.Errorf("read the page of keys: %w", err)
	}
	return found, nil
}

// keyReport is everything that the page of one key shows.
type keyReport struct {
	entry Entry
	first origin
	// responses has the response that the key replays, if there is one and the visitor may see it.
	responses []storedResponse
}

// keyReport reads what the page of one key shows, in one round trip.
func (a *App) keyReport(ctx context.Context, principal core.Principal, id uuid.UUID) (keyReport, error) {
	var found keyReport
	var reads db.Reads
	a.inspector.queueEntry(&reads, principal.OrgID, id, &found.entry)
	queueOrigin(&reads, principal.OrgID, id, &found.first)
	// Stored responses may hold anything that a client was answered, so only administrators see them.
	if principal.Role.Allows(core.RoleAdmin) {
		queueResponse(&reads, principal.OrgID, id, &found.responses)
	}
	err := a.inspector.readKey(ctx, &reads, id)
	return found, err
}
