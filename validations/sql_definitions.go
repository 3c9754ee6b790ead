package validations

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/engines"
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

// ValidatorOrigins returns the origins of the external validators that the newest versions of the organization's
// workflows call, in order.
func (s *Service) ValidatorOrigins(ctx context.Context, orgID uuid.UUID) ([]string, error) {
	// A step's type is written as this string, so a definition without it has no such step and need not be read.
	var origins []string
	var body []byte
	err := db.Each(ctx, s.db.Pool, []any{&body}, func() error {
		definition, err := decodeDefinition(body)
		if err != nil {
			return err
		}
		for _, step := range definition.Steps {
			if origin, ok := engines.HTTPOrigin(step.Config); ok && step.Type == engines.KindHTTP {
				origins = append(origins, origin)
			}
		}
		return nil
	}, `
		SELECT d.body FROM workflows AS w
		JOIN workflow_versions AS v ON v.org_id = w.org_id AND v.workflow_id = w.id AND v.number = w.latest_version
		JOIN definitions AS d ON d.org_id = v.org_id AND d.digest = v.definition_digest
		WHERE w.org_id = $1 AND position($2::bytea IN d.body) > 0`, orgID, []byte(`"`+engines.KindHTTP+`"`))
	if err != nil {
		return nil, fmt.Errorf("read external validators: %w", err)
	}
	slices.Sort(origins)
	return slices.Compact(origins), nil
}
