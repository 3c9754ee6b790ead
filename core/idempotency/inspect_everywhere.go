package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// StuckKey is a key of any organization that nobody holds and that is not finished.
type StuckKey struct {
	OrgID    uuid.UUID
	ID       uuid.UUID
	Key      string
	Endpoint Endpoint
	// Dead says that the completer has given up.
	Dead      bool
	Attempts  int64
	LastError string
	CreatedAt time.Time
}

// StuckEverywhere lists stuck keys of all organizations for operators, those first that have been left longest.
func (i *Inspector) StuckEverywhere(ctx context.Context, limit int) ([]StuckKey, error) {
	rows, err := i.db.Pool.Query(ctx, `
		SELECT org_id, id, key, endpoint, attempts >= $1, attempts, last_error, created_at FROM idempotency_keys
		WHERE recovery_point <> 'finished' AND locked_until <= now() ORDER BY locked_until LIMIT $2`,
		i.maxAttempts, limit)
	if err != nil {
		return nil, fmt.Errorf("list stuck keys: %w", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[StuckKey])
	if err != nil {
		return nil, fmt.Errorf("list stuck keys: %w", err)
	}
	return keys, nil
}
