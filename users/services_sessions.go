package users

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
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

// SignIn begins a session and returns its secret for the cookie. The session that it replaces ends. An unknown
// address and a wrong password have the same answer, and take the same time.
func (s *Service) SignIn(ctx context.Context, attempt signIn) (string, error) {
	user, err := s.User(ctx, attempt.Email)
	if err != nil && !core.HasCode(err, core.CodeNotFound) {
		return "", err
	}
	matches, err := s.passwordMatches(ctx, attempt.Password, user.PasswordHash)
	if err != nil {
		return "", err
	}
	if !matches {
		return "", core.NewError(core.CodeNotAuthenticated, "The e-mail address or the password is wrong.")
	}
	secret, digest, _ := newSecret()
	return secret, s.beginSession(ctx, user.ID, sessionDigest(attempt.Replaces), digest,
		core.StorableUpTo(attempt.UserAgent, maxUserAgent))
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
		_, err := s.hashPassword(password)
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
	if _, err := gorm.G[Session](s.db.Gorm).Where("digest = ?", sessionDigest(secret)).Delete(ctx); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// SetPassword gives the user a password and ends all sessions that began with another one.
func (s *Service) SetPassword(ctx context.Context, userID uuid.UUID, password string) error {
	hash, err := s.hashPassword(password)
	if err != nil {
		return err
	}
	_, err = db.InGormTx(ctx, s.db, func(tx db.GormTx) (int, error) {
		models := tx.Gorm(ctx)
		if _, err := gorm.G[User](models).Where("id = ?", userID).Update(ctx, "password_hash", hash); err != nil {
			return 0, err
		}
		return gorm.G[Session](models).Where("user_id = ?", userID).Delete(ctx)
	})
	if err != nil {
		return fmt.Errorf("set the password of user %s: %w", userID, err)
	}
	return nil
}

// SetOperator sets whether the user may use the operations page, from the user's next page on.
func (s *Service) SetOperator(ctx context.Context, userID uuid.UUID, isOperator bool) error {
	_, err := gorm.G[User](s.db.Gorm).Where("id = ?", userID).Update(ctx, "is_operator", isOperator)
	if err != nil {
		return fmt.Errorf("set whether user %s is an operator: %w", userID, err)
	}
	return nil
}

// HashCheaply makes the hashes of new passwords cost next to nothing, for tests that sign in. It must be called before
// the service is used.
func (s *Service) HashCheaply() {
	s.hashCost = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

func (s *Service) hashPassword(password string) (string, error) {
	hash, err := argon2id.CreateHash(password, s.hashCost)
	if err != nil {
		return "", fmt.Errorf("hash the password: %w", err)
	}
	return hash, nil
}

// maxSessions bounds the list of sessions.
const maxSessions = 100

// sessions lists the user's sessions, the newest first.
func (s *Service) sessions(ctx context.Context, userID uuid.UUID, current string) ([]Session, error) {
	found, err := gorm.G[Session](s.db.Gorm).Where("user_id = ? AND expires_at > now()", userID).
		Order("created_at DESC").Limit(maxSessions).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for i := range found {
		found[i].Current = bytes.Equal(found[i].Digest, sessionDigest(current))
	}
	return found, nil
}

// endOtherSessions ends all sessions of the user but the current one.
func (s *Service) endOtherSessions(ctx context.Context, userID uuid.UUID, current string) error {
	_, err := gorm.G[Session](s.db.Gorm).
		Where("user_id = ? AND digest <> ?", userID, sessionDigest(current)).Delete(ctx)
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// changePassword sets another password for who knows the one so far, ends all sessions and begins a new one.
func (s *Service) changePassword(
	ctx context.Context, visitor pages.Visitor, form passwordForm, userAgent string,
) (string, error) {
	user, err := gorm.G[User](s.db.Gorm).Where("id = ?", visitor.UserID).Take(ctx)
	if err != nil {
		return "", fmt.Errorf("look up user %s: %w", visitor.UserID, err)
	}
	matches, err := s.passwordMatches(ctx, form.Current, user.PasswordHash)
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
	deleted, err := gorm.G[Session](s.db.Gorm).Where("expires_at <= now()").Delete(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions: %w", err)
	}
	return int64(deleted), nil
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
