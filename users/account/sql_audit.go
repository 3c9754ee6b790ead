package account

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

func organizationsOf(ctx context.Context, tx db.Tx, userID uuid.UUID) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, `SELECT org_id FROM memberships WHERE user_id = $1 ORDER BY org_id`, userID)
	if err != nil {
		return nil, fmt.Errorf("list the organizations of user %s: %w", userID, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("list the organizations of user %s: %w", userID, err)
	}
	return found, nil
}
