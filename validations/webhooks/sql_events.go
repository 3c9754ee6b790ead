package webhooks

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// eventRetention is how long events are kept, in SQL, with their deliveries.
const eventRetention = `interval '30 days'`

// Event is something that has happened in an organization.
type Event struct {
	api.Event

	// Position is the event's place in the list of its organization; 0 until it has one.
	Position int64 `json:"position"`
}

// shownEvent is an Event e.
const shownEvent = `json_build_object('id', e.id, 'type', e.type, 'schema_version', 1, 'timestamp', e.at,
	'data', e.data::json, 'position', e.position)`

// findEvent reads an event.
func (s *Service) findEvent(ctx context.Context, orgID, id uuid.UUID) (Event, error) {
	return one[Event](s.db.Pool.QueryRow(ctx, `SELECT `+shownEvent+` FROM events AS e WHERE org_id = $1 AND id = $2`,
		orgID, id), "event")
}

// EventFilter narrows the list of events. Empty members do not narrow.
type EventFilter struct {
	After string `query:"after" validate:"omitempty,uuid"`
	Type  string `query:"type"`
	Run   string `query:"run"   validate:"omitempty,uuid"`
	// Last is how many of the newest events are wanted; 0 for all.
	Last int `query:"last" validate:"min=0,max=200"`
}

// events reads events behind a position, oldest first.
func (s *Service) events(
	ctx context.Context, orgID uuid.UUID, after int64, filter EventFilter, limit int,
) ([]Event, error) {
	order := ""
	if filter.Last > 0 {
		order, limit = "DESC", filter.Last
	}
	// A condition that may be left out would keep the statement from the index of runs.
	ofRun, args := "", []any{orgID, after, filter.Type, limit}
	if filter.Run != "" {
		ofRun, args = " AND run_id = $5", append(args, uuid.MustParse(filter.Run))
	}
	return db.All(ctx, s.db.Pool, pgx.RowTo[Event], `
		SELECT `+shownEvent+` FROM (
			SELECT * FROM events
			WHERE org_id = $1 AND position > $2 AND ($3 = '' OR type = $3)`+ofRun+`
			ORDER BY position `+order+` LIMIT $4) AS e
		ORDER BY position`, args...)
}

// stateOf is the state of a delivery d.
const stateOf = `CASE WHEN d.delivered THEN 'delivered' WHEN d.due_at IS NULL THEN 'failed' ELSE 'pending' END`

// DeliveryFilter narrows a list of deliveries.
type DeliveryFilter struct {
	Event string `query:"event" validate:"omitempty,uuid"`
	State string `query:"state" validate:"omitempty,oneof=pending delivered failed"`
}

// deliveries reads a page of deliveries, the newest events first.
func (s *Service) deliveries(
	ctx context.Context, orgID, webhook uuid.UUID, filter DeliveryFilter, cursor core.Cursor,
) ([]api.Delivery, error) {
	comparison, order, from := cursor.Window()
	// Where the page begins if that is at no event: at the newest one, or behind those that are purged.
	beginning := int64(0)
	if from == uuid.Max {
		beginning = math.MaxInt64
	}
	ofEvent, args := "", []any{orgID, webhook, from, cursor.Size + 1, filter.State, beginning}
	if filter.Event != "" {
		ofEvent = " AND position = (SELECT position FROM events WHERE org_id = $1 AND id = $7)"
		args = append(args, uuid.MustParse(filter.Event))
	}
	return db.All(ctx, s.db.Pool, pgx.RowTo[api.Delivery], `
		SELECT json_build_object('event', e.id, 'type', e.type, 'timestamp', e.at,
			'state', `+stateOf+`, 'next_attempt_at', d.due_at, 'attempts', coalesce(a.list, '[]'))
		FROM (
			SELECT * FROM webhook_deliveries AS d WHERE org_id = $1 AND webhook_id = $2 AND position `+comparison+`
					coalesce((SELECT position FROM events WHERE org_id = $1 AND id = $3), $6)
				AND ($5 = '' OR $5 = `+stateOf+`)
				`+ofEvent+`
			ORDER BY position `+order+` LIMIT $4) AS d
		CROSS JOIN LATERAL (
			SELECT id, type, at FROM events WHERE org_id = d.org_id AND position = d.position LIMIT 1) AS e
		CROSS JOIN LATERAL (
			SELECT json_agg(json_build_object('number', number, 'at', at, 'took_ms', took_us / 1000, 'status', status,
				'reason', reason, 'excerpt', excerpt) ORDER BY number DESC) AS list
			FROM webhook_attempts WHERE org_id = d.org_id AND webhook_id = d.webhook_id AND position = d.position) AS a
		ORDER BY d.position `+order,
		args...)
}

// Purge deletes events that are past their retention, with their deliveries, and returns how many. The newest event of
// an organization stays, because those who have read it ask for what comes after it.
func Purge(ctx context.Context, database *db.DB, batch int) (int64, error) {
	var from time.Time
	deleted, err := db.Batches(ctx, batch, func(ctx context.Context) (int64, error) {
		var count int64
		err := database.Pool.QueryRow(ctx, `
			WITH deleted AS (
				DELETE FROM events WHERE ctid = ANY (ARRAY(
					SELECT ctid FROM events AS e WHERE at >= $2 AND at < now() - `+eventRetention+`
						AND position < (SELECT max(position) FROM events WHERE org_id = e.org_id)
					ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED))
				RETURNING at)
			SELECT count(*), coalesce(max(at), $2) FROM deleted`, batch, from).Scan(&count, &from)
		return count, err
	})
	if err != nil {
		return deleted, fmt.Errorf("purge events: %w", err)
	}
	return deleted, nil
}
