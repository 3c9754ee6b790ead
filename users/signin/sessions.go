package signin

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// Session is a browser's session of a user.
type Session struct {
	Digest    []byte `gorm:"primaryKey"`
	ID        uuid.UUID
	UserID    uuid.UUID
	UserAgent string
	// Address is that of the client that has signed in; "" if it is not known.
	Address   string
	CreatedAt time.Time
	ExpiresAt time.Time
	// LastUsedAt is exact to five minutes.
	LastUsedAt time.Time
	// Current says that it is the session of the request.
	Current bool `gorm:"-"`
}

const (
	// sessionIdle is how long a session lasts after its last use, and sessionLife after it began, as SQL.
	sessionIdle = `interval '12 hours'`
	sessionLife = `interval '7 days'`
	// maxUserAgent is how many characters of a browser's User-Agent are kept.
	maxUserAgent = 300
	// maxSessions bounds the list of sessions.
	maxSessions = 100
)

// SignOut ends the browser's session. Repeating it is not an error.
func (s *Service) SignOut(ctx context.Context, from Browser) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		var ended Session
		err := tx.Gorm(ctx).Clauses(clause.Returning{Columns: []clause.Column{{Name: "user_id"}}}).
			Where("digest = ?", account.Digest(from.Secret)).Delete(&ended).Error
		if err != nil {
			return fmt.Errorf("end a session: %w", err)
		}
		if ended.UserID == uuid.Nil {
			return nil
		}
		return account.AuditUser(ctx, tx, ended.UserID, ended.UserID, "session.end", "signed out "+from.Origin())
	})
}

// SetPassword gives the user a password on the operator's behalf, who thereby confirms that the e-mail address is the
// user's. All sessions end.
func (s *Service) SetPassword(ctx context.Context, userID uuid.UUID, password string) error {
	hash, err := s.accounts.Hash(ctx, password)
	if err != nil {
		return err
	}
	columns := map[string]any{"password_hash": hash, "address_confirmed": true}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		if err := updatePassword(ctx, tx, userID, columns); err != nil {
			return err
		}
		return s.accounts.RecordChange(ctx, tx, uuid.Nil, userID, "password.set", "all sessions ended")
	})
}

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

// EndOtherSessions ends the session of the user with the id, or all for the zero UUID, but never the browser's own.
// If wanted, all tokens of the user end with them. Repeating it is not an error.
func (s *Service) EndOtherSessions(ctx context.Context, userID, id uuid.UUID, tokens bool, from Browser) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		others := gorm.G[Session](tx.Gorm(ctx)).
			Where("user_id = ? AND digest <> ?", userID, account.Digest(from.Secret))
		if id != uuid.Nil {
			others = others.Where("id = ?", id)
		}
		ended, err := others.Delete(ctx)
		if err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		revoked, err := revokeIf(ctx, tx, userID, tokens)
		if err != nil {
			return err
		}
		detail := core.Plural(ended, "other session") + ", " + revoked + from.Origin()
		return account.AuditUser(ctx, tx, userID, userID, "session.end", detail)
	})
}

// ChangePassword sets a new password for a user who knows the current one, ends all sessions and begins a new one.
func (s *Service) ChangePassword(
	ctx context.Context, visitor pages.Visitor, form PasswordForm, from Browser,
) (string, error) {
	if err := s.checkPassword(ctx, visitor, "current", form.Current, from); err != nil {
		return "", err
	}
	hash, err := s.accounts.Hash(ctx, form.New)
	if err != nil {
		return "", err
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (string, error) {
		if err := updatePassword(ctx, tx, visitor.UserID, map[string]any{"password_hash": hash}); err != nil {
			return "", err
		}
		revoked, err := revokeIf(ctx, tx, visitor.UserID, form.RevokeTokens)
		if err != nil {
			return "", err
		}
		detail := "all sessions ended, " + revoked + from.Origin()
		err = s.accounts.RecordChange(ctx, tx, visitor.UserID, visitor.UserID, "password.change", detail)
		if err != nil {
			return "", err
		}
		return insertSession(ctx, tx, visitor.UserID, from)
	})
}

// BeginSession replaces the browser's session by a new one, and returns its secret. The detail of the audit record ends
// with the browser's address.
func (s *Service) BeginSession(ctx context.Context, userID uuid.UUID, detail string, from Browser) (string, error) {
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (string, error) {
		if err := account.AuditUser(ctx, tx, userID, userID, "session.begin", detail); err != nil {
			return "", err
		}
		return insertSession(ctx, tx, userID, from)
	})
}

// insertSession replaces the browser's session by a new one of the user, and returns its secret. The user's expired
// sessions go with it. The lock keeps the operator from disabling the user until the transaction ends.
func insertSession(ctx context.Context, tx db.GormTx, userID uuid.UUID, from Browser) (string, error) {
	lock := clause.Locking{Strength: clause.LockingStrengthShare}
	user, err := gorm.G[account.User](tx.Gorm(ctx), lock).Where("id = ?", userID).Take(ctx)
	if err != nil {
		return "", fmt.Errorf("look whether user %s is disabled: %w", userID, err)
	}
	if user.DisabledAt != nil {
		return "", accountDisabled()
	}
	_, err = gorm.G[Session](tx.Gorm(ctx)).
		Where("digest = ? OR user_id = ? AND expires_at <= now()", account.Digest(from.Secret), userID).Delete(ctx)
	if err != nil {
		return "", fmt.Errorf("end the session so far: %w", err)
	}
	secret, digest := account.NewSecret()
	err = tx.Gorm(ctx).Model(&Session{}).Create(map[string]any{
		"digest": digest, "user_id": userID, "user_agent": core.StorableUpTo(from.UserAgent, maxUserAgent),
		"address":    from.Address,
		"expires_at": gorm.Expr("now() + " + sessionIdle),
	}).Error
	if err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	return secret, nil
}

// updatePassword sets columns of a user, the password among them, and ends all sessions, which began with the previous
// one.
func updatePassword(ctx context.Context, tx db.GormTx, userID uuid.UUID, columns map[string]any) error {
	if err := tx.Gorm(ctx).Model(&account.User{ID: userID}).Updates(columns).Error; err != nil {
		return fmt.Errorf("set the password of user %s: %w", userID, err)
	}
	return SignOutUser(ctx, tx, userID)
}

// SignOutUser ends the sessions of a user, the sign-ins that wait for a second step, and the links for a new password.
func SignOutUser(ctx context.Context, tx db.GormTx, userID uuid.UUID) error {
	for _, ended := range []any{&Session{}, &challenge{}, &PasswordLink{}} {
		if err := tx.Gorm(ctx).Where("user_id = ?", userID).Delete(ended).Error; err != nil {
			return fmt.Errorf("sign user %s out: %w", userID, err)
		}
	}
	return nil
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
	// RevokeTokens ends all tokens of the user, too.
	RevokeTokens bool `form:"revoke_tokens"`
}
