package signin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// mayForget reports whether a link may be mailed to the user: one who is enabled, and does not only sign in at the
// provider.
func mayForget(ctx context.Context, tx db.Tx, userID uuid.UUID) (bool, error) {
	var may bool
	err := tx.QueryRow(ctx, `
		SELECT u.disabled_at IS NULL AND (u.password_hash <> '' OR NOT EXISTS (
			SELECT FROM identities AS i WHERE i.user_id = u.id)) FROM users AS u WHERE u.id = $1`, userID).Scan(&may)
	if err != nil {
		return false, fmt.Errorf("look whether user %s may get a link: %w", userID, err)
	}
	return may, nil
}

// The origins of links that set a password.
const (
	originGiven  = "given"
	originMailed = "mailed"
)

// administered is SQL that holds where the user $1 administers the user of the row u: in each organization of u, of
// which there is one at least. No administrator administers an operator of the installation.
const administered = `(NOT u.is_operator AND EXISTS (SELECT FROM memberships AS m WHERE m.user_id = u.id)
	AND NOT EXISTS (
		SELECT FROM memberships AS m WHERE m.user_id = u.id AND NOT EXISTS (
			SELECT FROM memberships AS a WHERE a.org_id = m.org_id AND a.user_id = %s
				AND (a.role = 'owner' OR (a.role = 'admin' AND m.role <> 'owner')))))`

// validLink is SQL that holds while a link may be used.
func validLink() string {
	return `(l.expires_at > now() AND u.disabled_at IS NULL AND (l.made_by IS NULL OR ` +
		fmt.Sprintf(administered, "l.made_by") + `))`
}

// AdministersAll reports whether one user may take over the account of another: whether everything that the account may
// do is in organizations that the first user manages.
func AdministersAll(ctx context.Context, tx db.Tx, adminID, userID uuid.UUID) (bool, error) {
	var administers bool
	err := tx.QueryRow(ctx, `SELECT `+fmt.Sprintf(administered, "$1")+` FROM users AS u WHERE u.id = $2`,
		adminID, userID).Scan(&administers)
	if err != nil {
		return false, fmt.Errorf("look who administers user %s: %w", userID, err)
	}
	return administers, nil
}

// newPasswordLink is what a new link is stored by.
type newPasswordLink struct {
	userID, madeBy uuid.UUID
	origin         string
	digest         []byte
	life           time.Duration
}

// upsertPasswordLink stores a link, which replaces the user's previous one of the same origin.
func upsertPasswordLink(ctx context.Context, tx db.Tx, link newPasswordLink) (PasswordLink, error) {
	stored := PasswordLink{UserID: link.userID}
	err := tx.QueryRow(ctx, `
		INSERT INTO password_links (user_id, origin, digest, made_by, expires_at)
		VALUES ($1, $2, $3, nullif($4, '00000000-0000-0000-0000-000000000000'::uuid),
			now() + make_interval(secs => $5))
		ON CONFLICT ON CONSTRAINT password_links_pkey DO UPDATE SET digest = excluded.digest,
			made_by = excluded.made_by, created_at = now(), expires_at = excluded.expires_at
		RETURNING expires_at, (SELECT email FROM users WHERE id = $1)`,
		link.userID, link.origin, link.digest, link.madeBy, link.life.Seconds()).Scan(&stored.ExpiresAt, &stored.Email)
	if err != nil {
		return PasswordLink{}, fmt.Errorf("make a link for user %s: %w", link.userID, err)
	}
	return stored, nil
}

// passwordLink finds the valid link with the secret.
func (s *Service) passwordLink(ctx context.Context, secret string) (PasswordLink, error) {
	link := PasswordLink{secret: secret}
	err := s.db.Pool.QueryRow(ctx, `
		SELECT u.id, u.email, l.expires_at FROM password_links AS l JOIN users AS u ON u.id = l.user_id
		WHERE l.digest = $1 AND `+validLink(), account.Digest(secret)).Scan(&link.UserID, &link.Email, &link.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return PasswordLink{}, noSuchLink()
	}
	if err != nil {
		return PasswordLink{}, fmt.Errorf("look a link up: %w", err)
	}
	return link, nil
}

// usedLink is a link that has just been used.
type usedLink struct {
	userID uuid.UUID
	origin string
}

// deletePasswordLink uses a link. Of two concurrent requests, one finds it.
func deletePasswordLink(ctx context.Context, tx db.Tx, secret string) (usedLink, error) {
	var used usedLink
	err := tx.QueryRow(ctx, `
		DELETE FROM password_links AS l USING users AS u
		WHERE l.digest = $1 AND u.id = l.user_id AND `+validLink()+` RETURNING l.user_id, l.origin`,
		account.Digest(secret)).Scan(&used.userID, &used.origin)
	if errors.Is(err, pgx.ErrNoRows) {
		return usedLink{}, noSuchLink()
	}
	if err != nil {
		return usedLink{}, fmt.Errorf("use a link: %w", err)
	}
	return used, nil
}

// PurgeSignIns deletes links and sign-ins that have expired, and mails that could not be sent for three days.
func (s *Service) PurgeSignIns(ctx context.Context) (int64, error) {
	var total int64
	for _, statement := range []string{
		`DELETE FROM password_links WHERE expires_at <= now()`,
		`DELETE FROM sign_in_steps WHERE expires_at <= now()`,
		`DELETE FROM mails WHERE created_at <= now() - interval '3 days'`,
	} {
		deleted, err := s.db.Pool.Exec(ctx, statement)
		if err != nil {
			return total, fmt.Errorf("delete what has expired: %w", err)
		}
		total += deleted.RowsAffected()
	}
	return total, nil
}
