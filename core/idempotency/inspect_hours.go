package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// maxHourKeys bounds how many replayed keys are counted by hour; the newest are.
	maxHourKeys = 10_000
	// idSlack is far more than passes between the making of a key's id and the time that it shows.
	idSlack = time.Minute
)

// ReplaysByHour counts how often the starts of each hour were replayed, from a time on. The hours are in UTC, and those
// without replays are not in the answer. Counted are keys that have started a run and are still kept.
func (i *Inspector) ReplaysByHour(ctx context.Context, orgID uuid.UUID, since time.Time) (map[time.Time]int64, error) {
	rows, err := i.db.Pool.Query(ctx, `
		WITH replayed AS (
			SELECT key_id, replays FROM key_activity
			WHERE org_id = $1 AND key_id >= $2 AND replays > 0 ORDER BY key_id DESC LIMIT $4)
		SELECT date_trunc('hour', k.created_at, 'UTC'), sum(r.replays)::bigint
		FROM replayed AS r JOIN idempotency_keys AS k ON k.org_id = $1 AND k.id = r.key_id
		WHERE k.created_at >= $3 AND k.validation_run_id IS NOT NULL GROUP BY 1`,
		orgID, core.FirstIDAt(since.Add(-idSlack)), since, maxHourKeys)
	if err != nil {
		return nil, fmt.Errorf("count replays by hour: %w", err)
	}
	hours := make(map[time.Time]int64)
	var hour time.Time
	var replays int64
	_, err = pgx.ForEachRow(rows, []any{&hour, &replays}, func() error {
		hours[hour.UTC()] = replays
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count replays by hour: %w", err)
	}
	return hours, nil
}
