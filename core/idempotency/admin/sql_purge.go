package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// These statements read a page of rows and delete those whose key is gone. The next page begins behind it, because
// there may be as many rows as keys, and each statement has to end before its deadline. A sub-select for each row
// looks its key up by index, where a join could read all keys.
const (
	purgeActivity = `
		WITH page AS (
			SELECT ctid AS place, org_id, key_id FROM key_activity
			WHERE (org_id, key_id) > ($1, $2) ORDER BY org_id, key_id LIMIT $3
		), deleted AS (
			DELETE FROM key_activity WHERE ctid = ANY (ARRAY(SELECT place FROM page WHERE ` + keyIsGone + `))
		)
		SELECT org_id, key_id FROM page ORDER BY org_id DESC, key_id DESC LIMIT 1`
	purgeEvents = `
		WITH page AS (
			SELECT DISTINCT org_id, key_id FROM key_events
			WHERE (org_id, key_id) > ($1, $2) ORDER BY org_id, key_id LIMIT $3
		), deleted AS (
			DELETE FROM key_events WHERE ctid = ANY (ARRAY(
				SELECT e.place FROM page CROSS JOIN LATERAL (SELECT ctid AS place FROM key_events
					WHERE org_id = page.org_id AND key_id = page.key_id OFFSET 0) AS e
				WHERE ` + keyIsGone + `))
		)
		SELECT org_id, key_id FROM page ORDER BY org_id DESC, key_id DESC LIMIT 1`

	keyIsGone = `(SELECT id FROM idempotency_keys
		WHERE org_id = page.org_id AND id = page.key_id LIMIT 1) IS NULL`
)

// purgeOrphans runs one of the statements page by page to the end of the table.
func purgeOrphans(ctx context.Context, database *db.DB, statement string, batch int) error {
	var org, key uuid.UUID
	_, err := db.Batches(ctx, 1, func(ctx context.Context) (int64, error) {
		err := database.Pool.QueryRow(ctx, statement, org, key, batch).Scan(&org, &key)
		if errors.Is(err, pgx.ErrNoRows) {
			return 0, nil
		}
		return 1, err
	})
	return err
}

// purgePeriods deletes the days and hours that are no longer kept.
func purgePeriods(ctx context.Context, database *db.DB) error {
	_, err := database.Pool.Exec(ctx, `
		WITH hours AS (DELETE FROM start_hours WHERE hour <= now() - make_interval(secs => $2))
		DELETE FROM key_activity_days WHERE day <= (now() AT TIME ZONE 'UTC')::date - $1::integer`,
		activityDays, hoursKept.Seconds())
	if err != nil {
		return fmt.Errorf("purge the activity of days and hours: %w", err)
	}
	return nil
}
