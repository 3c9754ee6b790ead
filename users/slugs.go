package users

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Slugs returns the slugs of organizations by their ids.
func (s *Service) Slugs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT id, slug FROM organizations WHERE id = ANY ($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the slugs of organizations: %w", err)
	}
	slugs := make(map[uuid.UUID]string, len(ids))
	var id uuid.UUID
	var slug string
	_, err = pgx.ForEachRow(rows, []any{&id, &slug}, func() error {
		slugs[id] = slug
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the slugs of organizations: %w", err)
	}
	return slugs, nil
}
