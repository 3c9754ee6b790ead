package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Filenames reads the names of the documents of submissions.
func (s *Service) Filenames(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT u.id, u.filename FROM unnest($2::uuid[]) AS asked (id) CROSS JOIN LATERAL (
			SELECT id, filename FROM submissions WHERE org_id = $1 AND id = asked.id LIMIT 1) AS u`, orgID, ids)
	if err != nil {
		return nil, fmt.Errorf("read the names of documents: %w", err)
	}
	names := make(map[uuid.UUID]string, len(ids))
	var id uuid.UUID
	var name string
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		names[id] = name
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the names of documents: %w", err)
	}
	return names, nil
}
