package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
)

// keysReport is everything that the page of keys shows.
type keysReport struct {
	entries core.Scanned[Entry]
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
	list := a.inspector.queueList(&reads, orgID, filter, cursor)
	queueDays(&reads, orgID, &found.days)
	queueStuck(&reads, orgID, &found.stuck)
	a.unkeyed.QueueUnkeyedRuns(&reads, orgID, &found.unkeyed)
	if err := a.inspector.db.Read(ctx, &reads); err != nil {
		return keysReport{}, fmt.Errorf("read the page of keys: %w", err)
	}
	found.entries = list.entries()
	return found, nil
}

// keyReport is everything that the page of one key shows.
type keyReport struct {
	entry Entry
	first origin
	// responses has the response that the key replays, if there is one and the visitor may see it.
	responses []storedResponse
	// requests are those with the key, as far as they are drawn, and labels the names of their tokens.
	requests []requestlog.Request
	labels   map[uuid.UUID]string
}

// keyReport reads what the page of one key shows.
func (a *App) keyReport(ctx context.Context, principal core.Principal, id uuid.UUID) (keyReport, error) {
	var found keyReport
	var reads db.Reads
	a.inspector.queueEntry(&reads, principal.OrgID, id, &found.entry)
	queueOrigin(&reads, principal.OrgID, id, &found.first)
	// Stored responses may hold anything that a client was answered, so only administrators see them.
	if principal.Role.Allows(api.RoleAdmin) {
		queueResponse(&reads, principal.OrgID, id, &found.responses)
	}
	if err := a.inspector.readKey(ctx, &reads, id); err != nil {
		return found, err
	}
	err := a.readUses(ctx, principal.OrgID, &found)
	return found, err
}

// slackOfUses is more than the time between the arrival of a request and the claim of its key: a request has so long to
// send its body.
const slackOfUses = 10 * time.Minute

// readUses reads the requests with the key from the log, and the names of their tokens.
func (a *App) readUses(ctx context.Context, orgID uuid.UUID, found *keyReport) error {
	e := found.entry
	use := requestlog.Use{
		OrgID: orgID, Key: e.Key, Endpoint: string(e.Endpoint), Since: e.CreatedAt.Add(-slackOfUses),
		Until: e.ExpiresAt,
	}
	var uses db.Reads
	requestlog.QueueUses(&uses, use, firstLanes, lastLanes, &found.requests)
	if err := a.inspector.db.Read(ctx, &uses); err != nil {
		return fmt.Errorf("read the requests with key %s: %w", e.ID, err)
	}
	var tokens []uuid.UUID
	for _, request := range found.requests {
		if request.TokenID != uuid.Nil {
			tokens = append(tokens, request.TokenID)
		}
	}
	if len(tokens) == 0 {
		return nil
	}
	var err error
	found.labels, err = a.tokens.TokenLabels(ctx, orgID, tokens)
	return err
}
