package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

const selectDefinition = `SELECT body FROM definitions WHERE org_id = $1 AND digest = $2`

// Definition reads a definition of the organization by its digest. Do not change it: it is shared by the cache.
func (s *Service) Definition(ctx context.Context, orgID uuid.UUID, digest Digest) (Definition, error) {
	if cached, ok := s.definitions.Get(digest); ok {
		return cached, nil
	}
	definition, err := readDefinition(s.db.Pool.QueryRow(ctx, selectDefinition, orgID, digest[:]), digest)
	if err == nil {
		s.definitions.Add(digest, definition)
	}
	return definition, err
}

// ReadDefinition is Service.Definition inside a transaction, and without the cache.
func ReadDefinition(ctx context.Context, tx db.Tx, orgID uuid.UUID, digest Digest) (Definition, error) {
	return readDefinition(tx.QueryRow(ctx, selectDefinition, orgID, digest[:]), digest)
}

func readDefinition(row pgx.Row, digest Digest) (Definition, error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return Definition{}, fmt.Errorf("read definition %x: %w", digest, err)
	}
	return decodeDefinition(body)
}

// StoreDefinition stores the definition for the organization unless it is there already. It returns the digest.
func StoreDefinition(ctx context.Context, tx db.Tx, orgID uuid.UUID, definition Definition) (Digest, error) {
	body, digest, err := definition.Encode()
	if err != nil {
		return Digest{}, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO definitions (org_id, digest, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		orgID, digest[:], body)
	if err != nil {
		return Digest{}, fmt.Errorf("store a definition: %w", err)
	}
	return digest, nil
}
