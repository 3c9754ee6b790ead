package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

const (
	// sessionIdle is how long a session lasts after its last use, and sessionLife after it began, as SQL.
	sessionIdle = `interval '12 hours'`
	sessionLife = `interval '7 days'`
)

// insertSession replaces the browser's session by a new one of the user, and returns its secret. The user's expired
// sessions go with it.
func insertSession(ctx context.Context, tx db.Tx, userID uuid.UUID, from Browser) (string, error) {
	if err := lockEnabled(ctx, tx, userID); err != nil {
		return "", err
	}
	secret, digest, _ := account.NewSecret()
	batch := tx.NewBatch()
	batch.Queue(`DELETE FROM sessions WHERE digest = $1 OR (user_id = $2 AND expires_at <= now())`,
		account.Digest(from.Secret), userID)
	batch.Queue(`INSERT INTO sessions (digest, user_id, user_agent, expires_at)
		VALUES ($1, $2, $3, now() + `+sessionIdle+`)`,
		digest, userID, core.StorableUpTo(from.UserAgent, maxUserAgent))
	if err := batch.Send(ctx); err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	return secret, nil
}

// lockEnabled refuses a user who is disabled, and keeps the operator from disabling the user until the transaction
// ends.
func lockEnabled(ctx context.Context, tx db.Tx, userID uuid.UUID) error {
	var disabled bool
	err := tx.QueryRow(ctx, `SELECT disabled_at IS NOT NULL FROM users WHERE id = $1 FOR SHARE`, userID).Scan(&disabled)
	if err != nil {
		return fmt.Errorf("look whether user %s is disabled: %w", userID, err)
	}
	if disabled {
		return accountDisabled()
	}
	return nil
}

// deleteSession returns whose session it was; the zero UUID where there is none.
func deleteSession(ctx context.Context, tx db.Tx, digest []byte) (uuid.UUID, error) {
	var userID uuid.UUID
	err := tx.QueryRow(ctx, `DELETE FROM sessions WHERE digest = $1 RETURNING user_id`, digest).Scan(&userID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, fmt.Errorf("end a session: %w", err)
	}
	return userID, nil
}

func deleteOtherSessions(ctx context.Context, tx db.Tx, userID uuid.UUID, kept []byte) (int64, error) {
	ended, err := tx.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND digest <> $2`, userID, kept)
	if err != nil {
		return 0, fmt.Errorf("end sessions: %w", err)
	}
	return ended.RowsAffected(), nil
}

// addressProof says whether setting a password also proves that the e-mail address is the user's.
type addressProof bool

const (
	addressConfirmed addressProof = true
	addressUnproven  addressProof = false
)

// updatePassword sets a new password and ends all sessions, which began with the previous one.
func updatePassword(ctx context.Context, tx db.Tx, userID uuid.UUID, hash string, proof addressProof) error {
	batch := tx.NewBatch()
	batch.Queue(`UPDATE users SET password_hash = $2, address_confirmed = address_confirmed OR $3 WHERE id = $1`,
		userID, hash, bool(proof))
	QueueSignOut(batch, userID)
	if err := batch.Send(ctx); err != nil {
		return fmt.Errorf("set the password of user %s: %w", userID, err)
	}
	return nil
}

// QueueSignOut ends the sessions of a user, the sign-ins that wait for a second step, and the links for a new password.
func QueueSignOut(batch *db.Batch, userID uuid.UUID) {
	batch.Queue(`DELETE FROM sessions WHERE user_id = $1`, userID)
	batch.Queue(`DELETE FROM sign_in_steps WHERE user_id = $1`, userID)
	batch.Queue(`DELETE FROM password_links WHERE user_id = $1`, userID)
}
