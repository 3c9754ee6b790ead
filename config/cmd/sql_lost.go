package cmd

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// knownRuns returns which of the runs are in the database.
func knownRuns(ctx context.Context, database *db.DB, told []acknowledged) (map[uuid.UUID]bool, error) {
	return asSet[uuid.UUID](ctx, database, `
		SELECT r.id FROM unnest($1::text[], $2::uuid[]) AS told (slug, run)
		JOIN organizations o ON o.slug = told.slug
		JOIN LATERAL (
			SELECT id FROM validation_runs WHERE org_id = o.id AND id = told.run LIMIT 1
		) AS r ON true`,
		db.Column(told, func(one *acknowledged) string { return one.Org }),
		db.Column(told, func(one *acknowledged) *uuid.UUID { return &one.Run }))
}

// knownKeys returns which keys of an organization have started a run that is in the database. No index leads from a key
// to its run for longer than the key lives, so it reads the organization's runs, once for all keys.
func knownKeys(ctx context.Context, database *db.DB, orgID uuid.UUID, keys []string) (map[string]bool, error) {
	return asSet[string](ctx, database, `
		SELECT DISTINCT idempotency_key FROM validation_runs WHERE org_id = $1 AND idempotency_key = ANY($2::text[])`,
		orgID, keys)
}

func asSet[T comparable](ctx context.Context, database *db.DB, query string, args ...any) (map[T]bool, error) {
	found, err := db.All(ctx, database.Pool, pgx.RowTo[T], query, args...)
	if err != nil {
		return nil, fmt.Errorf("read what is known: %w", err)
	}
	set := make(map[T]bool, len(found))
	for _, one := range found {
		set[one] = true
	}
	return set, nil
}
