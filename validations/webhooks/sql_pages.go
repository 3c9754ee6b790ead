package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// maxCounted bounds the attempts of a webhook that are counted: those on its newest events.
const maxCounted = 5000

// attempts counts those of one webhook, or those of all (uuid.Nil), by their ids.
func (s *Service) attempts(ctx context.Context, orgID, id uuid.UUID) (map[string]attempts, error) {
	found := make(map[string]attempts)
	var of string
	var hour time.Time
	var accepted, failed int64
	err := db.Each(ctx, s.db.Pool, []any{&of, &hour, &accepted, &failed}, func() error {
		found[of] = append(found[of], pages.HourBar(hour, accepted, failed))
		return nil
	}, `
		WITH hooks AS (SELECT id FROM webhooks WHERE org_id = $1 AND id = coalesce($2, id)),
		counted AS (
			SELECT w.id, date_trunc('hour', a.at, 'UTC') AS hour, count(*) FILTER (WHERE a.reason = '') AS accepted,
				count(*) FILTER (WHERE a.reason <> '') AS failed
			FROM hooks AS w CROSS JOIN LATERAL (
				SELECT at, reason FROM webhook_attempts WHERE org_id = $1 AND webhook_id = w.id
				ORDER BY position DESC, number DESC LIMIT $3) AS a
			GROUP BY w.id, hour)
		SELECT id::text, hour, coalesce(accepted, 0), coalesce(failed, 0)
		FROM hooks CROSS JOIN generate_series(date_trunc('hour', now(), 'UTC') - interval '23 hours', now(),
			interval '1 hour') AS h (hour)
		LEFT JOIN counted USING (id, hour) ORDER BY hour`, orgID, db.NonZero(id), maxCounted)
	if err != nil {
		return nil, fmt.Errorf("count attempts: %w", err)
	}
	return found, nil
}

// Troubled counts the webhooks that fail or that the service has disabled.
func (s *Service) Troubled(ctx context.Context, orgID uuid.UUID) (int64, error) {
	var count int64
	err := s.db.Pool.QueryRow(ctx, `
		SELECT count(*) FROM webhooks WHERE org_id = $1
			AND (disabled_reason <> '' OR disabled_at IS NULL AND failing_since < now() - `+failingAfter+`)`, orgID).
		Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count webhooks that fail: %w", err)
	}
	return count, nil
}
