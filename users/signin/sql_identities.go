package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// identity returns the user who is linked to the person; the zero UUID if there is none.
func (s *Service) identity(ctx context.Context, who person) (uuid.UUID, error) {
	var userID uuid.UUID
	err := s.db.Pool.QueryRow(ctx, `SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2`,
		who.Issuer, who.Subject).Scan(&userID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, fmt.Errorf("look an identity up: %w", err)
	}
	return userID, nil
}

// lockCandidate returns the account with the person's address; nil for none.
func lockCandidate(ctx context.Context, tx db.Tx, who person) (*candidate, error) {
	var found candidate
	err := tx.QueryRow(ctx, `
		SELECT u.id, u.address_confirmed, u.disabled_at IS NOT NULL,
			EXISTS (SELECT FROM identities AS i WHERE i.user_id = u.id AND i.issuer = $2)
		FROM users AS u WHERE u.email = $1 FOR UPDATE OF u`, who.Email, who.Issuer).
		Scan(&found.id, &found.confirmed, &found.disabled, &found.linked)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // a person who is new
	}
	if err != nil {
		return nil, fmt.Errorf("look for the account of an identity: %w", err)
	}
	return &found, nil
}

// insertProvidedUser reports whether no account had the address. The provider has verified it.
func insertProvidedUser(ctx context.Context, tx db.Tx, id uuid.UUID, who person) (bool, error) {
	added, err := tx.Exec(ctx, `INSERT INTO users (id, email, name, address_confirmed)
		VALUES ($1, $2, $3, true) ON CONFLICT ON CONSTRAINT uq_users_email DO NOTHING`, id, who.Email, who.Name)
	if err != nil {
		return false, fmt.Errorf("add the user of an identity: %w", err)
	}
	return added.RowsAffected() > 0, nil
}

func insertIdentity(ctx context.Context, tx db.Tx, userID uuid.UUID, who person) error {
	_, err := tx.Exec(ctx, `INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $2, $3)`,
		who.Issuer, who.Subject, userID)
	if err != nil {
		return fmt.Errorf("link an identity: %w", err)
	}
	return nil
}

func deleteIdentities(ctx context.Context, tx db.Tx, userID uuid.UUID) error {
	if _, err := tx.Exec(ctx, `DELETE FROM identities WHERE user_id = $1`, userID); err != nil {
		return fmt.Errorf("unlink user %s: %w", userID, err)
	}
	return nil
}
