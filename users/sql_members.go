package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const memberColumns = `SELECT u.id, u.email, u.name, m.role, m.created_at
	FROM memberships AS m JOIN users AS u ON u.id = m.user_id WHERE m.org_id = $1 `

// members reads one page of the organization's members, the newest users first, and one row more.
func (s *Service) members(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Member, error) {
	comparison, order, from := cursor.Window()
	rows, err := s.db.Pool.Query(ctx, memberColumns+`AND m.user_id `+comparison+` $2 ORDER BY m.user_id `+order+
		` LIMIT $3`, orgID, from, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Member])
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return found, nil
}

// lockMember reads a member and keeps others from changing the membership until the transaction ends.
func lockMember(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID) (Member, error) {
	rows, err := tx.Query(ctx, memberColumns+`AND m.user_id = $2 FOR UPDATE OF m`, orgID, userID)
	if err != nil {
		return Member{}, fmt.Errorf("read member %s: %w", userID, err)
	}
	member, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Member])
	if errors.Is(err, pgx.ErrNoRows) {
		return Member{}, core.NotFound("member")
	}
	if err != nil {
		return Member{}, fmt.Errorf("read member %s: %w", userID, err)
	}
	return member, nil
}

// insertMembership reports whether the user was no member before.
func insertMembership(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID, role core.Role) (bool, error) {
	added, err := tx.Exec(ctx, `
		INSERT INTO memberships (org_id, user_id, role) VALUES ($1, $2, $3)
		ON CONFLICT ON CONSTRAINT memberships_pkey DO NOTHING`, orgID, userID, role)
	if err != nil {
		return false, fmt.Errorf("add member %s: %w", userID, err)
	}
	return added.RowsAffected() > 0, nil
}

func updateMembership(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID, role core.Role) error {
	_, err := tx.Exec(ctx, `UPDATE memberships SET role = $3 WHERE org_id = $1 AND user_id = $2`, orgID, userID, role)
	return membershipError(err)
}

func deleteMembership(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID) error {
	_, err := tx.Exec(ctx, `DELETE FROM memberships WHERE org_id = $1 AND user_id = $2`, orgID, userID)
	return membershipError(err)
}

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
