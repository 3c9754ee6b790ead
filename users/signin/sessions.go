package signin

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// Session is a browser's session of a user.
type Session struct {
	Digest    []byte `gorm:"primaryKey"`
	UserID    uuid.UUID
	UserAgent string
	CreatedAt time.Time
	ExpiresAt time.Time
	// Current says that it is the session of the request.
	Current bool `gorm:"-"`
}

// maxUserAgent is how many characters of a browser's User-Agent are kept.
const maxUserAgent = 300

// SignOut ends the browser's session. Repeating it is not an error.
func (s *Service) SignOut(ctx context.Context, from Browser) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		userID, err := deleteSession(ctx, tx, account.Digest(from.Secret))
		if err != nil || userID == uuid.Nil {
			return err
		}
		return account.AuditUser(ctx, tx, userID, userID, "session.end", "signed out "+from.Origin())
	})
}

// SetPassword gives the user a password on the operator's behalf, who thereby confirms that the e-mail address is the
// user's. All sessions end.
func (s *Service) SetPassword(ctx context.Context, userID uuid.UUID, password string) error {
	hash, err := s.passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		if err := updatePassword(ctx, tx, userID, hash, addressConfirmed); err != nil {
			return err
		}
		return account.AuditUser(ctx, tx, uuid.Nil, userID, "password.set", "all sessions ended")
	})
}

// HasPassword reports whether it is the user's password.
func (s *Service) HasPassword(ctx context.Context, user account.User, password string) (bool, error) {
	return s.passwords.Match(ctx, password, user.PasswordHash)
}

// maxSessions bounds the list of sessions.
const maxSessions = 100

// Sessions lists the user's sessions, the newest first.
func (s *Service) Sessions(ctx context.Context, userID uuid.UUID, current string) ([]Session, error) {
	found, err := gorm.G[Session](s.db.Gorm).Where("user_id = ? AND expires_at > now()", userID).
		Order("created_at DESC").Limit(maxSessions).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for i := range found {
		found[i].Current = bytes.Equal(found[i].Digest, account.Digest(current))
	}
	return found, nil
}

// EndOtherSessions ends all sessions of the user but the browser's.
func (s *Service) EndOtherSessions(ctx context.Context, userID uuid.UUID, from Browser) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		ended, err := deleteOtherSessions(ctx, tx, userID, account.Digest(from.Secret))
		if err != nil {
			return err
		}
		detail := core.Plural(int(ended), "other session") + " " + from.Origin()
		return account.AuditUser(ctx, tx, userID, userID, "session.end", detail)
	})
}

// ChangePassword sets a new password for a user who knows the current one, ends all sessions and begins a new one.
func (s *Service) ChangePassword(
	ctx context.Context, visitor pages.Visitor, form PasswordForm, from Browser,
) (string, error) {
	user, err := gorm.G[account.User](s.db.Gorm).Where("id = ?", visitor.UserID).Take(ctx)
	if err != nil {
		return "", fmt.Errorf("look up user %s: %w", visitor.UserID, err)
	}
	matches, err := s.passwords.Match(ctx, form.Current, user.PasswordHash)
	if err != nil {
		return "", err
	}
	if !matches {
		if err := s.accounts.RecordAction(ctx, user.ID, user.ID, "password.refuse", from.Origin()); err != nil {
			return "", err
		}
		return "", core.InvalidPayload("Please look at 1 field again.", core.FieldError{
			Parameter: "current", Code: "wrong", Detail: "is not your password",
		})
	}
	hash, err := s.passwords.Hash(ctx, form.New)
	if err != nil {
		return "", err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (string, error) {
		if err := updatePassword(ctx, tx, user.ID, hash, addressUnproven); err != nil {
			return "", err
		}
		detail := "all sessions ended, " + from.Origin()
		if err := account.AuditUser(ctx, tx, user.ID, user.ID, "password.change", detail); err != nil {
			return "", err
		}
		return insertSession(ctx, tx, user.ID, from)
	})
}

// BeginSession replaces the browser's session by a new one, and returns its secret. The detail of the audit record ends
// with the browser's address.
func (s *Service) BeginSession(ctx context.Context, userID uuid.UUID, detail string, from Browser) (string, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (string, error) {
		if err := account.AuditUser(ctx, tx, userID, userID, "session.begin", detail); err != nil {
			return "", err
		}
		return insertSession(ctx, tx, userID, from)
	})
}

// PurgeSessions deletes the sessions that have expired.
func (s *Service) PurgeSessions(ctx context.Context) (int64, error) {
	deleted, err := gorm.G[Session](s.db.Gorm).Where("expires_at <= now()").Delete(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions: %w", err)
	}
	return int64(deleted), nil
}

// PasswordForm asks for another password.
type PasswordForm struct {
	Current string `form:"current" validate:"required"`
	New     string `form:"new"     validate:"required,min=12,max=500"`
	Again   string `form:"again"   validate:"required,eqfield=New"`
}
