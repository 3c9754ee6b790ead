package webhooks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// eventRetention is how long events are kept, in SQL, with their deliveries.
const eventRetention = `interval '30 days'`

const eventColumns = `id, coalesce(position, 0), type, at, data`

// findEvent reads an event.
func (s *Service) findEvent(ctx context.Context, orgID, id uuid.UUID) (Event, error) {
	var e Event
	err := s.db.Pool.QueryRow(ctx, `SELECT `+eventColumns+` FROM events WHERE org_id = $1 AND id = $2`, orgID, id).
		Scan(&e.ID, &e.Position, &e.Type, &e.At, &e.Data)
	if errors.Is(err, pgx.ErrNoRows) {
		return Event{}, core.NotFound("event")
	}
	if err != nil {
		return Event{}, fmt.Errorf("read event %s: %w", id, err)
	}
	return e, nil
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
		order, limit = " DESC", filter.Last
	}
	// A condition that may be left out would keep the statement from the index of runs.
	ofRun, args := "", []any{orgID, after, filter.Type, limit}
	if filter.Run != "" {
		ofRun, args = " AND run_id = $5", append(args, uuid.MustParse(filter.Run))
	}
	rows, err := s.db.Pool.Query(ctx, `
		SELECT `+eventColumns+` FROM events
		WHERE org_id = $1 AND position > $2 AND ($3 = '' OR type = $3)`+ofRun+`
		ORDER BY position`+order+` LIMIT $4`, args...)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	if filter.Last > 0 {
		slices.Reverse(found)
	}
	return found, nil
}

// listedDelivery is a delivery of a list, with the position of its event.
type listedDelivery struct {
	api.Delivery

	position int64
}

// stateOf is the state of a delivery d.
const stateOf = `CASE WHEN d.delivered THEN 'delivered' WHEN d.due_at IS NULL THEN 'failed' ELSE 'pending' END`

func scanDelivery(row pgx.CollectableRow) (listedDelivery, error) {
	var d listedDelivery
	var at time.Time
	var due *time.Time
	err := row.Scan(&d.position, &d.Event, &d.Type, &at, &d.State, &due, &d.Attempts)
	d.Timestamp, d.NextAttemptAt = api.At(at), api.MaybeAt(due)
	return d, err
}

// DeliveryFilter narrows a list of deliveries.
type DeliveryFilter struct {
	Event string `query:"event" validate:"omitempty,uuid"`
	State string `query:"state" validate:"omitempty,oneof=pending delivered failed"`
}

// positionOf is the position in a cursor of the list of deliveries, which idOf makes.
func positionOf(id uuid.UUID) int64 {
	return int64(min(binary.BigEndian.Uint64(id[:]), math.MaxInt64))
}

func idOf(position int64) uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(position)) //nolint:gosec // It is not negative.
	return id
}

// deliveries reads a page of deliveries, the newest events first.
func (s *Service) deliveries(
	ctx context.Context, orgID, webhook uuid.UUID, filter DeliveryFilter, cursor core.Cursor,
) ([]listedDelivery, error) {
	comparison, order, from := cursor.Window()
	ofEvent, args := "", []any{orgID, webhook, positionOf(from), cursor.Size + 1, filter.State}
	if filter.Event != "" {
		ofEvent = " AND position = (SELECT position FROM events WHERE org_id = $1 AND id = $6)"
		args = append(args, uuid.MustParse(filter.Event))
	}
	rows, err := s.db.Pool.Query(ctx, `
		SELECT d.position, e.id::text, e.type, e.at, `+stateOf+`, d.due_at, coalesce(a.list, '[]')
		FROM (
			SELECT * FROM webhook_deliveries AS d WHERE org_id = $1 AND webhook_id = $2 AND position `+comparison+` $3
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
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanDelivery)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return found, nil
}

// Purge deletes events that are past their retention, with their deliveries, and returns how many. The newest event of
// an organization stays, because those who have read it ask for what comes after it.
func Purge(ctx context.Context, database *db.DB, batch int) (int64, error) {
	var total int64
	for {
		tag, err := database.Pool.Exec(ctx, `
			DELETE FROM events WHERE ctid = ANY (ARRAY(
				SELECT ctid FROM events AS e WHERE at < now() - `+eventRetention+`
					AND position < (SELECT max(position) FROM events WHERE org_id = e.org_id)
				ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED))`, batch)
		if err != nil {
			return total, fmt.Errorf("purge events: %w", err)
		}
		total += tag.RowsAffected()
		if tag.RowsAffected() < int64(batch) {
			return total, nil
		}
	}
}
