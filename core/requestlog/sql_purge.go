package requestlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// MaxKept is how many requests of an organization are kept, the newest.
const MaxKept = 1_000_000

// Limits say what Purge keeps.
type Limits struct {
	// Age is how long requests are kept; 0 is for ever.
	Age time.Duration
	// Count is how many requests of an organization are kept.
	Count int
	// Batch is how many rows one statement deletes.
	Batch int
}

// Purge deletes the requests that are too old, or more than an organization may keep, and the counts of days that are
// no longer shown. It returns how many requests were deleted, also beside an error.
func Purge(ctx context.Context, database *db.DB, limits Limits) (int64, error) {
	oldest := uuid.Nil
	if limits.Age > 0 {
		var at time.Time
		err := database.Pool.QueryRow(ctx, `SELECT now() - make_interval(secs => $1)`, limits.Age.Seconds()).Scan(&at)
		if err != nil {
			return 0, fmt.Errorf("read the database's clock: %w", err)
		}
		oldest = core.FirstIDAt(at)
	}
	var deleted int64
	var orgID uuid.UUID
	for {
		err := database.Pool.QueryRow(ctx,
			`SELECT org_id FROM request_log WHERE org_id > $1 ORDER BY org_id LIMIT 1`, orgID).Scan(&orgID)
		if errors.Is(err, pgx.ErrNoRows) {
			break
		}
		if err != nil {
			return deleted, fmt.Errorf("find the organizations of requests: %w", err)
		}
		n, err := purgeOrg(ctx, database, orgID, oldest, limits)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	_, err := database.Pool.Exec(ctx,
		`DELETE FROM refusal_days WHERE day <= (now() AT TIME ZONE 'UTC')::date - $1::integer`, refusalDays)
	if err != nil {
		return deleted, fmt.Errorf("purge the refusals: %w", err)
	}
	return deleted, nil
}

// purgeOrg deletes the requests of an organization before the id, and those that are too many.
func purgeOrg(
	ctx context.Context, database *db.DB, orgID, oldest uuid.UUID, limits Limits,
) (int64, error) {
	var newest uuid.UUID
	err := database.Pool.QueryRow(ctx, `
		SELECT id FROM request_log WHERE (org_id, id) > ($1, $2) AND org_id = $1
		ORDER BY org_id DESC, id DESC OFFSET $3 LIMIT 1`, orgID, oldest, max(limits.Count-1, 0)).Scan(&newest)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("find the oldest request to keep: %w", err)
	}
	if err == nil {
		oldest = newest
	}
	deleted, err := db.Batches(ctx, limits.Batch, func(ctx context.Context) (int64, error) {
		tag, err := database.Pool.Exec(ctx, `
			DELETE FROM request_log WHERE ctid = ANY (ARRAY(
				SELECT ctid FROM request_log WHERE org_id = $1 AND id < $2
				ORDER BY id LIMIT $3))`, orgID, oldest, limits.Batch)
		return tag.RowsAffected(), err
	})
	if err != nil {
		return deleted, fmt.Errorf("purge requests: %w", err)
	}
	return deleted, nil
}
