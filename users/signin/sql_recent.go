package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// ways are those in which a user can confirm who they are.
type ways struct {
	Password, Code, Provider bool
}

// waysOf returns how the user can confirm who they are; issuer is the provider of the installation.
func (s *Service) waysOf(ctx context.Context, userID uuid.UUID, issuer string) (ways, error) {
	var found ways
	err := s.db.Pool.QueryRow(ctx, `
		SELECT u.password_hash <> '',
			EXISTS (SELECT FROM second_factors AS f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL),
			EXISTS (SELECT FROM identities AS i WHERE i.user_id = u.id AND i.issuer = $2)
		FROM users AS u WHERE u.id = $1`, userID, issuer).Scan(&found.Password, &found.Code, &found.Provider)
	if err != nil {
		return ways{}, fmt.Errorf("look how user %s signs in: %w", userID, err)
	}
	return found, nil
}

// signedInLately reports whether the user of a session has confirmed who they are within the last ten minutes.
func (s *Service) signedInLately(ctx context.Context, secret string) (bool, error) {
	var lately bool
	err := s.db.Pool.QueryRow(ctx, `
		SELECT coalesce(proved_at > now() - interval '10 minutes', false) FROM sessions
		WHERE digest = $1 AND expires_at > now()`, account.Digest(secret)).Scan(&lately)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, errSessionEnded()
	}
	if err != nil {
		return false, fmt.Errorf("look when a session was proved: %w", err)
	}
	return lately, nil
}

// updateProvedAt records that the user of a session has just confirmed who they are.
func updateProvedAt(ctx context.Context, tx db.Tx, secret string, userID uuid.UUID) error {
	proved, err := tx.Exec(ctx, `UPDATE sessions SET proved_at = now()
		WHERE digest = $1 AND user_id = $2 AND expires_at > now()`, account.Digest(secret), userID)
	if err != nil {
		return fmt.Errorf("note that a session was proved: %w", err)
	}
	if proved.RowsAffected() == 0 {
		return errSessionEnded()
	}
	return nil
}
