package idempotency

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Release frees an abandoned key inside the caller's transaction. A key with a subject goes back to the completer with
// all its attempts, because what the request has created has to be finished. A key without a subject is deleted, so
// that its request can be sent anew. A key that is finished or locked is refused.
func Release(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) error {
	// The row is locked before it is judged, or the completer could take the key over in between.
	var releasable, hasSubject bool
	err := tx.QueryRow(ctx, `
		SELECT recovery_point <> 'finished' AND locked_until <= now(), validation_run_id IS NOT NULL
		FROM idempotency_keys WHERE org_id = $1 AND id = $2 FOR UPDATE`, orgID, id).Scan(&releasable, &hasSubject)
	if errors.Is(err, pgx.ErrNoRows) {
		return core.NotFound("idempotency key")
	}
	if err != nil {
		return fmt.Errorf("lock key %s: %w", id, err)
	}
	if !releasable {
		return core.NewError(api.CodeKeyNotReleasable,
			"Only a key whose request was abandoned can be released: this one is finished or in progress.")
	}
	statement := `DELETE FROM idempotency_keys WHERE org_id = $1 AND id = $2`
	if hasSubject {
		statement = `UPDATE idempotency_keys SET attempts = 0, retry_at = NULL WHERE org_id = $1 AND id = $2`
	}
	if _, err := tx.Exec(ctx, statement, orgID, id); err != nil {
		return fmt.Errorf("release key %s: %w", id, err)
	}
	return nil
}
