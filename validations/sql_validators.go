package validations

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// ValidatorOrigins returns the origins of the external validators that the newest versions of the organization's
// workflows call, in order.
func (s *Service) ValidatorOrigins(ctx context.Context, orgID uuid.UUID) ([]string, error) {
	// A step's type is written as this string, so a definition without it has no such step and need not be read.
	rows, err := s.db.Pool.Query(ctx, `
		SELECT d.body FROM workflows AS w
		JOIN workflow_versions AS v ON v.org_id = w.org_id AND v.workflow_id = w.id AND v.number = w.latest_version
		JOIN definitions AS d ON d.org_id = v.org_id AND d.digest = v.definition_digest
		WHERE w.org_id = $1 AND position($2::bytea IN d.body) > 0`, orgID, []byte(`"`+engines.KindHTTP+`"`))
	if err != nil {
		return nil, fmt.Errorf("look for external validators: %w", err)
	}
	var origins []string
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&body}, func() error {
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
	})
	if err != nil {
		return nil, fmt.Errorf("read external validators: %w", err)
	}
	slices.Sort(origins)
	return slices.Compact(origins), nil
}
