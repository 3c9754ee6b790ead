package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	// maxCounted bounds the attempts of a webhook that are counted: those on its newest events.
	maxCounted = 5000
	// maxRunEvents bounds the deliveries that are listed for one run.
	maxRunEvents = 100
)

// attempts counts the attempts of the last 24 hours, of one webhook or of all (uuid.Nil).
func (s *Service) attempts(ctx context.Context, orgID, id uuid.UUID) (map[uuid.UUID]attempts, error) {
	rows, err := s.db.Pool.Query(ctx, `
		WITH hooks AS (SELECT id FROM webhooks WHERE org_id = $1 AND id = coalesce($2, id)),
		counted AS (
			SELECT w.id, date_trunc('hour', a.at, 'UTC') AS hour, count(*) FILTER (WHERE a.reason = '') AS accepted,
				count(*) FILTER (WHERE a.reason <> '') AS failed
			FROM hooks AS w CROSS JOIN LATERAL (
				SELECT at, reason FROM webhook_attempts WHERE org_id = $1 AND webhook_id = w.id
				ORDER BY position DESC, number DESC LIMIT $3) AS a
			GROUP BY w.id, hour)
		SELECT id, hour, coalesce(accepted, 0), coalesce(failed, 0)
		FROM hooks CROSS JOIN generate_series(date_trunc('hour', now(), 'UTC') - interval '23 hours', now(),
			interval '1 hour') AS h (hour)
		LEFT JOIN counted USING (id, hour) ORDER BY hour`, orgID, db.NonZero(id), maxCounted)
	if err != nil {
		return nil, fmt.Errorf("count attempts: %w", err)
	}
	found := make(map[uuid.UUID]attempts)
	var of uuid.UUID
	var hour hourOfAttempts
	_, err = pgx.ForEachRow(rows, []any{&of, &hour.Hour, &hour.Accepted, &hour.Failed}, func() error {
		found[of] = append(found[of], hour)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count attempts: %w", err)
	}
	return found, nil
}

// runEvent is an event of a run, once for each webhook that has got it or will.
type runEvent struct {
	ID   uuid.UUID
	Type api.EventType
	At   time.Time
	// Webhook and URL are those of the webhook; nil and "" if none wanted the event.
	Webhook *uuid.UUID
	URL     string
	State   api.DeliveryState
}

// Pill is the state of the delivery.
func (e runEvent) Pill() pages.Pill { return statePill(e.State) }

func (s *Service) eventsOfRun(ctx context.Context, orgID, run uuid.UUID) ([]runEvent, error) {
	found, err := db.All(ctx, s.db.Pool, pgx.RowToStructByPos[runEvent], `
		SELECT e.id, e.type, e.at, w.id, coalesce(w.url, ''), `+stateOf+`
		FROM events AS e LEFT JOIN webhook_deliveries AS d ON d.org_id = e.org_id AND d.position = e.position
		LEFT JOIN webhooks AS w ON w.org_id = d.org_id AND w.id = d.webhook_id
		WHERE e.org_id = $1 AND e.run_id = $2 ORDER BY e.at, e.id, w.url LIMIT $3`, orgID, run, maxRunEvents)
	if err != nil {
		return nil, fmt.Errorf("list the events of run %s: %w", run, err)
	}
	return found, nil
}

// Troubled counts the webhooks that fail or that the service has disabled.
func (s *Service) Troubled(ctx context.Context, orgID uuid.UUID) (int64, error) {
	var count int64
	err := s.db.Pool.QueryRow(ctx, `
		SELECT count(*) FROM webhooks WHERE org_id = $1
			AND (disabled_reason <> '' OR disabled_at IS NULL AND failing_since IS NOT NULL)`, orgID).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count webhooks that fail: %w", err)
	}
	return count, nil
}
