package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

func (s *Service) insertStep(ctx context.Context, digest []byte, waiting step) error {
	_, err := s.db.Pool.Exec(ctx, `
		INSERT INTO sign_in_steps (digest, purpose, user_id, next)
		VALUES ($1, $2, nullif($3, '00000000-0000-0000-0000-000000000000'::uuid), $4)`,
		digest, waiting.Purpose, waiting.UserID, waiting.Next)
	if err != nil {
		return fmt.Errorf("begin a step of a sign-in: %w", err)
	}
	return nil
}

const stepColumns = ` purpose, coalesce(user_id, '00000000-0000-0000-0000-000000000000'::uuid), next `

// step finds the unfinished sign-in of the browser with the secret.
func (s *Service) step(ctx context.Context, secret, purpose string) (step, error) {
	return scanStep(s.db.Pool.QueryRow(ctx, `SELECT`+stepColumns+`FROM sign_in_steps
		WHERE digest = $1 AND expires_at > now() AND $2 IN ('', purpose)`, sessionDigest(secret), purpose))
}

// deleteStep takes the unfinished sign-in of the browser. Of two concurrent requests, one finds it.
func deleteStep(ctx context.Context, tx db.Tx, secret, purpose string) (step, error) {
	return scanStep(tx.QueryRow(ctx, `DELETE FROM sign_in_steps
		WHERE digest = $1 AND expires_at > now() AND $2 IN ('', purpose) RETURNING`+stepColumns,
		sessionDigest(secret), purpose))
}

func scanStep(row pgx.Row) (step, error) {
	var found step
	err := row.Scan(&found.Purpose, &found.UserID, &found.Next)
	if errors.Is(err, pgx.ErrNoRows) {
		return step{}, noSuchStep()
	}
	if err != nil {
		return step{}, fmt.Errorf("look for a step of a sign-in: %w", err)
	}
	return found, nil
}

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

// provenLately reports whether the user of a session has confirmed who they are within the last ten minutes.
func (s *Service) provenLately(ctx context.Context, secret string) (bool, error) {
	var lately bool
	err := s.db.Pool.QueryRow(ctx, `
		SELECT coalesce(proved_at > now() - interval '10 minutes', false) FROM sessions
		WHERE digest = $1 AND expires_at > now()`, sessionDigest(secret)).Scan(&lately)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, errSessionEnded()
	}
	if err != nil {
		return false, fmt.Errorf("look when a session was proved: %w", err)
	}
	return lately, nil
}

// updateProved records that the user of a session has just confirmed who they are.
func updateProved(ctx context.Context, tx db.Tx, secret string, userID uuid.UUID) error {
	proved, err := tx.Exec(ctx, `UPDATE sessions SET proved_at = now()
		WHERE digest = $1 AND user_id = $2 AND expires_at > now()`, sessionDigest(secret), userID)
	if err != nil {
		return fmt.Errorf("note that a session was proved: %w", err)
	}
	if proved.RowsAffected() == 0 {
		return errSessionEnded()
	}
	return nil
}
