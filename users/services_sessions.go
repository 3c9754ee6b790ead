package users

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/alexedwards/argon2id"
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
	// maxHashes bounds how many passwords are hashed at once: each takes 64 MiB for the time.
	maxHashes = 2
	// maxUserAgent is how many characters are kept of what a browser says about itself.
	maxUserAgent = 300
)

// signIn is an attempt to sign in.
type signIn struct {
	Email, Password string
	UserAgent       string
	// Replaces is the secret of the browser's session so far; "" for none.
	Replaces string
}

// SignIn begins a session and returns its secret for the cookie. The session that it replaces ends. Whether the address
// is unknown or the password is wrong cannot be told apart, not even by the time it takes.
func (s *Service) SignIn(ctx context.Context, attempt signIn) (string, error) {
	var userID uuid.UUID
	var hash string
	err := s.db.Pool.QueryRow(ctx, `SELECT id, password_hash FROM users WHERE email = $1`,
		normalizeEmail(attempt.Email)).Scan(&userID, &hash)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("look a user up: %w", err)
	}
	matches, err := s.passwordMatches(ctx, attempt.Password, hash)
	if err != nil {
		return "", err
	}
	if !matches {
		return "", core.NewError(core.CodeNotAuthenticated, "The e-mail address or the password is wrong.")
	}
	secret, digest, _ := newSecret()
	_, err = db.InTx(ctx, s.db, func(tx db.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		batch.Queue(`DELETE FROM sessions WHERE digest = $1 OR (user_id = $2 AND expires_at <= now())`,
			sessionDigest(attempt.Replaces), userID)
		batch.Queue(`INSERT INTO sessions (digest, user_id, user_agent, expires_at)
			VALUES ($1, $2, $3, now() + `+sessionIdle+`)`,
			digest, userID, core.StorableUpTo(attempt.UserAgent, maxUserAgent))
		return struct{}{}, batch.Send(ctx)
	})
	if err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	return secret, nil
}

// passwordMatches compares with a hash that nothing matches where there is none, so that it takes as long.
func (s *Service) passwordMatches(ctx context.Context, password, hash string) (bool, error) {
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return false, fmt.Errorf("wait to compare a password: %w", ctx.Err())
	}
	if hash == "" {
		_, err := argon2id.CreateHash(password, argon2id.DefaultParams)
		return false, err
	}
	matches, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("compare a password: %w", err)
	}
	return matches, nil
}

// SignOut ends a session. To end one that has ended is no error.
func (s *Service) SignOut(ctx context.Context, secret string) error {
	if _, err := s.db.Pool.Exec(ctx, `DELETE FROM sessions WHERE digest = $1`, sessionDigest(secret)); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// SetPassword gives the user a password and ends all sessions that began with another one.
func (s *Service) SetPassword(ctx context.Context, userID uuid.UUID, password string) error {
	hash, err := hashPassword(password)
	if err != nil {
		return err
	}
	_, err = db.InTx(ctx, s.db, func(tx db.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		batch.Queue(`UPDATE users SET password_hash = $2 WHERE id = $1`, userID, hash)
		batch.Queue(`DELETE FROM sessions WHERE user_id = $1`, userID)
		return struct{}{}, batch.Send(ctx)
	})
	if err != nil {
		return fmt.Errorf("set the password of user %s: %w", userID, err)
	}
	return nil
}

// SetOperator says whether the user runs the installation, from the user's next page on.
func (s *Service) SetOperator(ctx context.Context, userID uuid.UUID, isOperator bool) error {
	_, err := s.db.Pool.Exec(ctx, `UPDATE users SET is_operator = $2 WHERE id = $1`, userID, isOperator)
	if err != nil {
		return fmt.Errorf("set whether user %s is an operator: %w", userID, err)
	}
	return nil
}

func hashPassword(password string) (string, error) {
	hash, err := argon2id.CreateHash(password, argon2id.DefaultParams)
	if err != nil {
		return "", fmt.Errorf("hash the password: %w", err)
	}
	return hash, nil
}

// Session is one of a user's sessions.
type Session struct {
	UserAgent string
	CreatedAt time.Time
	ExpiresAt time.Time
	// Current says that it is the one of the request.
	Current bool
}

// maxSessions bounds the list of sessions.
const maxSessions = 100

// sessions lists the user's sessions, the newest first.
func (s *Service) sessions(ctx context.Context, userID uuid.UUID, current string) ([]Session, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT user_agent, created_at, expires_at, digest = $2 FROM sessions
		WHERE user_id = $1 AND expires_at > now() ORDER BY created_at DESC LIMIT $3`,
		userID, sessionDigest(current), maxSessions)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Session])
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return found, nil
}

// endOtherSessions ends all sessions of the user but the current one.
func (s *Service) endOtherSessions(ctx context.Context, userID uuid.UUID, current string) error {
	_, err := s.db.Pool.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND digest <> $2`,
		userID, sessionDigest(current))
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// changePassword sets another password for who knows the one so far, ends all sessions and begins a new one.
func (s *Service) changePassword(
	ctx context.Context, visitor pages.Visitor, form passwordForm, userAgent string,
) (string, error) {
	var hash string
	err := s.db.Pool.QueryRow(ctx, `SELECT password_hash FROM users WHERE id = $1`, visitor.UserID).Scan(&hash)
	if err != nil {
		return "", fmt.Errorf("look a user up: %w", err)
	}
	matches, err := s.passwordMatches(ctx, form.Current, hash)
	if err != nil {
		return "", err
	}
	if !matches {
		return "", core.InvalidPayload("Please look at 1 field again.", core.FieldError{
			Parameter: "current", Code: "wrong", Detail: "is not your password",
		})
	}
	if err := s.SetPassword(ctx, visitor.UserID, form.New); err != nil {
		return "", err
	}
	return s.SignIn(ctx, signIn{Email: visitor.Email, Password: form.New, UserAgent: userAgent})
}

// PurgeSessions deletes the sessions that have expired.
func (s *Service) PurgeSessions(ctx context.Context) (int64, error) {
	deleted, err := s.db.Pool.Exec(ctx, `DELETE FROM sessions WHERE expires_at <= now()`)
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions: %w", err)
	}
	return deleted.RowsAffected(), nil
}

// guest is who has a session: the visitor, and what the visitor may do in each organization.
type guest struct {
	visitor    pages.Visitor
	principals map[string]core.Principal
}

// visit answers who has the session, in one round trip, and prolongs it.
func (s *Service) visit(ctx context.Context, secret string) (guest, error) {
	var found guest
	digest := sessionDigest(secret)
	var reads db.Reads
	reads.Queue(db.OneInto(&found.visitor, scanVisitor), `
		SELECT u.id, u.email, u.name, u.is_operator FROM sessions AS s JOIN users AS u ON u.id = s.user_id
		WHERE s.digest = $1 AND s.expires_at > now()`, digest)
	var holders []holder
	reads.Queue(db.AllInto(&holders, scanHolder), memberQuery, digest)
	reads.Queue(func(rows pgx.Rows) error {
		rows.Close()
		return rows.Err()
	}, prolongStatement, digest)
	err := s.db.Read(ctx, &reads)
	if found.visitor.UserID == uuid.Nil && errors.Is(err, pgx.ErrNoRows) {
		return guest{}, core.NewError(core.CodeNotAuthenticated, "Your session has ended. Sign in again.")
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
		o.id, o.slug, o.name, o.overage_billing, o.key_required, coalesce(extract(epoch FROM o.key_lifetime), 0)::float8
	FROM sessions AS s
	JOIN users AS u ON u.id = s.user_id
	JOIN memberships AS m ON m.user_id = u.id
	JOIN organizations AS o ON o.id = m.org_id
	WHERE s.digest = $1 AND s.expires_at > now()
	ORDER BY o.name, o.id`

// prolongStatement writes at most every five minutes, however often pages are loaded.
const prolongStatement = `
	UPDATE sessions SET expires_at = least(created_at + ` + sessionLife + `, now() + ` + sessionIdle + `)
	WHERE digest = $1 AND expires_at > now() AND expires_at < now() + ` + sessionIdle + ` - interval '5 minutes'
		AND expires_at < created_at + ` + sessionLife

// sessionLasts reports whether a session has not ended and its user belongs to the organization.
func (s *Service) sessionLasts(ctx context.Context, secret string, orgID uuid.UUID) (bool, error) {
	var lasts bool
	err := s.db.Pool.QueryRow(ctx, `SELECT EXISTS (
			SELECT FROM sessions AS s JOIN memberships AS m ON m.user_id = s.user_id
			WHERE s.digest = $1 AND s.expires_at > now() AND m.org_id = $2)`, sessionDigest(secret), orgID).Scan(&lasts)
	if err != nil {
		return false, fmt.Errorf("look whether a session lasts: %w", err)
	}
	return lasts, nil
}

func scanVisitor(row pgx.CollectableRow) (pages.Visitor, error) {
	var v pages.Visitor
	err := row.Scan(&v.UserID, &v.Email, &v.Name, &v.Operator)
	return v, err
}

func (g *guest) admit(holders []holder) {
	g.principals = make(map[string]core.Principal, len(holders))
	for _, h := range holders {
		g.principals[h.principal.OrgSlug] = h.principal
		g.visitor.Orgs = append(g.visitor.Orgs, pages.Organization{
			Slug: h.principal.OrgSlug, Name: h.principal.OrgName, Role: h.principal.Role,
		})
	}
}

func sessionDigest(secret string) []byte {
	digest := sha256.Sum256([]byte(secret))
	return digest[:]
}
