package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	// sessionIdle is how long a session lasts after its last use, and sessionLife after it began, as SQL.
	sessionIdle = `interval '12 hours'`
	sessionLife = `interval '7 days'`
)

// insertSession replaces the browser's session by a new one of the user, and returns its secret. The user's expired
// sessions go with it.
func insertSession(ctx context.Context, tx db.Tx, userID uuid.UUID, from browser) (string, error) {
	if err := lockEnabled(ctx, tx, userID); err != nil {
		return "", err
	}
	secret, digest, _ := newSecret()
	batch := tx.NewBatch()
	batch.Queue(`DELETE FROM sessions WHERE digest = $1 OR (user_id = $2 AND expires_at <= now())`,
		sessionDigest(from.Secret), userID)
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
	queueSignOut(batch, userID)
	if err := batch.Send(ctx); err != nil {
		return fmt.Errorf("set the password of user %s: %w", userID, err)
	}
	return nil
}

// queueSignOut ends the sessions of a user, the sign-ins that wait for a second step, and the links for a new password.
func queueSignOut(batch *db.Batch, userID uuid.UUID) {
	batch.Queue(`DELETE FROM sessions WHERE user_id = $1`, userID)
	batch.Queue(`DELETE FROM sign_in_steps WHERE user_id = $1`, userID)
	batch.Queue(`DELETE FROM password_links WHERE user_id = $1`, userID)
}

// guest is the visitor of a session, and what the visitor may do in each organization.
type guest struct {
	visitor    pages.Visitor
	principals map[string]core.Principal
	// lastOrg is the organization whose pages the visitor has seen last.
	lastOrg uuid.UUID
}

// visit returns the visitor of a session and prolongs the session, in one round trip.
func (s *Service) visit(ctx context.Context, secret string) (guest, error) {
	var found guest
	digest := sessionDigest(secret)
	var reads db.Reads
	reads.Queue(db.OneInto(&found, scanGuest), `
		SELECT u.id, u.email, u.name, u.is_operator, coalesce(u.last_org_id, '00000000-0000-0000-0000-000000000000')
		FROM sessions AS s JOIN users AS u ON u.id = s.user_id
		WHERE s.digest = $1 AND s.expires_at > now() AND u.disabled_at IS NULL`, digest)
	var holders []holder
	reads.Queue(db.AllInto(&holders, scanHolder), memberQuery, digest)
	reads.Queue(func(rows pgx.Rows) error {
		rows.Close()
		return rows.Err()
	}, prolongStatement, digest)
	err := s.db.Read(ctx, &reads)
	if found.visitor.UserID == uuid.Nil && errors.Is(err, pgx.ErrNoRows) {
		return guest{}, errSessionEnded()
	}
	if err != nil {
		return guest{}, core.Unavailable(fmt.Errorf("look a session up: %w", err))
	}
	found.admit(holders)
	return found, nil
}

// memberQuery has the columns that scanHolder reads, for each organization that the user of a session belongs to. There
// is no token.
const memberQuery = `
	SELECT '00000000-0000-0000-0000-000000000000'::uuid, m.role, m.role AS role, u.id, u.email, u.name,
		o.id, o.slug, o.name, o.overage_billing, o.key_required,
		coalesce(extract(epoch FROM o.key_lifetime), 0)::float8, o.suspended_at IS NOT NULL
	FROM sessions AS s
	JOIN users AS u ON u.id = s.user_id
	JOIN memberships AS m ON m.user_id = u.id
	JOIN organizations AS o ON o.id = m.org_id
	WHERE s.digest = $1 AND s.expires_at > now() AND u.disabled_at IS NULL
	ORDER BY m.created_at, o.id`

// prolongStatement writes at most every five minutes, however often pages are loaded.
const prolongStatement = `
	UPDATE sessions SET expires_at = least(created_at + ` + sessionLife + `, now() + ` + sessionIdle + `)
	WHERE digest = $1 AND expires_at > now() AND expires_at < now() + ` + sessionIdle + ` - interval '5 minutes'
		AND expires_at < created_at + ` + sessionLife

// confirmSession answers an error unless a session has not ended and its user has the role in the organization that the
// principal has. Without an organization the session alone counts. Asking does not prolong the session.
func (s *Service) confirmSession(ctx context.Context, secret string, principal core.Principal) error {
	var role *core.Role
	err := s.db.Pool.QueryRow(ctx, `
		SELECT m.role FROM sessions AS s JOIN users AS u ON u.id = s.user_id AND u.disabled_at IS NULL
		LEFT JOIN memberships AS m ON m.user_id = s.user_id AND m.org_id = $2
		WHERE s.digest = $1 AND s.expires_at > now()`, sessionDigest(secret), principal.OrgID).Scan(&role)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return errSessionEnded()
	case err != nil:
		return core.Unavailable(fmt.Errorf("confirm a session: %w", err))
	case principal.OrgID == uuid.Nil:
		return nil
	case role == nil:
		return core.NewError(core.CodePermissionDenied, "You are no longer a member of "+principal.OrgName+".")
	case *role != principal.Role:
		return core.AccessChanged()
	default:
		return nil
	}
}

func errSessionEnded() error {
	return core.NewError(core.CodeNotAuthenticated, "Your session has ended. Sign in again.")
}

func scanGuest(row pgx.CollectableRow) (guest, error) {
	var g guest
	v := &g.visitor
	err := row.Scan(&v.UserID, &v.Email, &v.Name, &v.Operator, &g.lastOrg)
	return g, err
}

// noteOrg stores which organization's pages the user has seen last. It writes when the user goes from one organization
// to another, and not with every page.
func (s *Service) noteOrg(ctx context.Context, userID, orgID uuid.UUID) error {
	_, err := s.db.Pool.Exec(ctx, `UPDATE users SET last_org_id = $2 WHERE id = $1`, userID, orgID)
	if err != nil {
		return fmt.Errorf("note the organization that was looked at: %w", err)
	}
	return nil
}
