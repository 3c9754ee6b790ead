package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// hoursKept is how long hours are kept: more than is shown, for who looks back with SQL.
const hoursKept = 8 * 24 * time.Hour

// Hours are what the starts of an organization came to in a time.
type Hours struct {
	// Replays counts the starts that were answered from their key, by the hour in which that happened. The hours are in
	// UTC, and those without replays may be missing.
	Replays map[time.Time]int64
	// Took counts the new starts of all hours: one count for each of metrics.StartBounds, and one beyond the last.
	Took []int64
}

// Hours reads what starts came to in the hours that began at a time or later.
func (i *Inspector) Hours(ctx context.Context, orgID uuid.UUID, since time.Time) (Hours, error) {
	rows, err := i.db.Pool.Query(ctx, `
		SELECT hour, replays, took FROM start_hours WHERE org_id = $1 AND hour >= $2`, orgID, since)
	if err != nil {
		return Hours{}, fmt.Errorf("read the hours of starts: %w", err)
	}
	hours := Hours{Replays: make(map[time.Time]int64), Took: make([]int64, buckets())}
	var hour time.Time
	var replays int64
	var took []int64
	_, err = pgx.ForEachRow(rows, []any{&hour, &replays, &took}, func() error {
		hours.Replays[hour.UTC()] = replays
		for bucket, n := range took {
			hours.Took[bucket] += n
		}
		return nil
	})
	if err != nil {
		return Hours{}, fmt.Errorf("read the hours of starts: %w", err)
	}
	return hours, nil
}
