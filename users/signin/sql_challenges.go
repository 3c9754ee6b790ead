package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

func (s *Service) insertChallenge(ctx context.Context, digest []byte, waiting challenge) error {
	_, err := s.db.Pool.Exec(ctx, `
		INSERT INTO sign_in_steps (digest, purpose, user_id, next)
		VALUES ($1, $2, nullif($3, '00000000-0000-0000-0000-000000000000'::uuid), $4)`,
		digest, waiting.Purpose, waiting.UserID, waiting.Next)
	if err != nil {
		return fmt.Errorf("begin a step of a sign-in: %w", err)
	}
	return nil
}

const challengeColumns = ` purpose, coalesce(user_id, '00000000-0000-0000-0000-000000000000'::uuid), next `

// challenge finds the unfinished sign-in of the browser with the secret.
func (s *Service) challenge(ctx context.Context, secret, purpose string) (challenge, error) {
	return scanChallenge(s.db.Pool.QueryRow(ctx, `SELECT`+challengeColumns+`FROM sign_in_steps
		WHERE digest = $1 AND expires_at > now() AND $2 IN ('', purpose)`, account.Digest(secret), purpose))
}

// deleteChallenge takes the unfinished sign-in of the browser. Of two concurrent requests, one finds it.
func deleteChallenge(ctx context.Context, tx db.Tx, secret, purpose string) (challenge, error) {
	return scanChallenge(tx.QueryRow(ctx, `DELETE FROM sign_in_steps
		WHERE digest = $1 AND expires_at > now() AND $2 IN ('', purpose) RETURNING`+challengeColumns,
		account.Digest(secret), purpose))
}

func scanChallenge(row pgx.Row) (challenge, error) {
	var found challenge
	err := row.Scan(&found.Purpose, &found.UserID, &found.Next)
	if errors.Is(err, pgx.ErrNoRows) {
		return challenge{}, noSuchChallenge()
	}
	if err != nil {
		return challenge{}, fmt.Errorf("look for a step of a sign-in: %w", err)
	}
	return found, nil
}
