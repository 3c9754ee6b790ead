package users

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Setup is which first steps an organization has made.
type Setup struct {
	// HasToken is set once a token was created, and HasColleague once the organization has a second member.
	HasToken, HasColleague bool
}

// Setup reads the first steps of an organization.
func (s *Service) Setup(ctx context.Context, orgID uuid.UUID) (Setup, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT EXISTS (SELECT FROM api_tokens WHERE org_id = $1),
			(SELECT count(*) FROM (SELECT FROM memberships WHERE org_id = $1 LIMIT 2) AS members) > 1`, orgID)
	if err != nil {
		return Setup{}, fmt.Errorf("read the first steps of an organization: %w", err)
	}
	setup, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Setup])
	if err != nil {
		return Setup{}, fmt.Errorf("read the first steps of an organization: %w", err)
	}
	return setup, nil
}
