package signin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

func (s *Service) passwordLetter(link PasswordLink) *mails.Letter {
	return &mails.Letter{
		Subject: "Set a new password",
		Text: fmt.Sprintf(`A new password can be set for the account of %s at %s. Open this link:

%s

It works once, until %s. If you do not want a new password, do nothing: the one that you have keeps working.
`, link.Email, s.cfg.Address, s.cfg.Address+link.Path(), link.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC")),
	}
}

// askForPassword sends a link to the address if there is an account with it. It does the same work for all addresses.
func (s *Service) askForPassword(ctx context.Context, email string) error {
	err := db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		return s.mails.Stage(ctx, tx, mails.KindForgotten, account.NormalizeEmail(email), nil)
	})
	s.mails.Wake()
	return err
}

// WriteForgotten makes a link for the user with the address; nil if there is no such user, or one who may not have a
// link. Users who only sign in at the provider get none: a password would outlive the account there. Nor does an
// account get one that has had its letters: the links in them still work.
func (s *Service) WriteForgotten(ctx context.Context, email string, mailID uuid.UUID) (*mails.Letter, error) {
	user, err := s.accounts.User(ctx, email)
	if errors.Is(err, api.CodeNotFound) {
		return nil, nil //nolint:nilnil // nobody to write to
	}
	if err != nil {
		return nil, err
	}
	if user.DisabledAt != nil {
		return nil, nil //nolint:nilnil // as above
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (*mails.Letter, error) {
		identities, err := gorm.G[identity](tx.Gorm(ctx)).Where("user_id = ?", user.ID).Count(ctx, "*")
		if err != nil {
			return nil, fmt.Errorf("look whether user %s may get a link: %w", user.ID, err)
		}
		if user.PasswordHash == "" && identities > 0 {
			return nil, nil
		}
		may, err := mayBeMailed(ctx, tx, user.ID, mailID)
		if err != nil || !may {
			return nil, err
		}
		link := PasswordLink{UserID: user.ID, Email: user.Email, Origin: originMailed, MailID: &mailID}
		if link, err = storeLink(ctx, tx, link, mailedLinkLife); err != nil {
			return nil, err
		}
		return s.passwordLetter(link), account.AuditUser(ctx, tx, user.ID, user.ID, "password.ask", "a link was mailed")
	})
}

// mayBeMailed reports whether an account may get a link by another letter: one in five minutes, and five a day. Each
// link of a letter works for a day, so there is always one that does.
func mayBeMailed(ctx context.Context, tx db.GormTx, userID, mailID uuid.UUID) (bool, error) {
	if err := lockUser(ctx, tx, userID); err != nil {
		return false, err
	}
	var may bool
	err := tx.Gorm(ctx).Model(&PasswordLink{}).Where("user_id = ? AND mail_id <> ?", userID, mailID).
		Where("created_at > now() - interval '1 day'").
		Select("count(DISTINCT mail_id) < 5 AND coalesce(max(created_at) <= now() - interval '5 minutes', true)").
		Scan(&may).Error
	if err != nil {
		return false, fmt.Errorf("count the links that user %s was mailed: %w", userID, err)
	}
	return may, nil
}

// lockUser keeps others from making links for the user until the transaction ends.
func lockUser(ctx context.Context, tx db.GormTx, userID uuid.UUID) error {
	lock := clause.Locking{Strength: clause.LockingStrengthUpdate}
	if _, err := gorm.G[account.User](tx.Gorm(ctx), lock).Where("id = ?", userID).Take(ctx); err != nil {
		return fmt.Errorf("lock user %s: %w", userID, err)
	}
	return nil
}

// The origins of links that set a password.
const (
	originGiven  = "given"
	originMailed = "mailed"
)

const (
	minLinkLife = time.Hour
	maxLinkLife = 72 * time.Hour
	// mailedLinkLife is how long a link works that was requested by mail. No shorter than the time in which they are
	// counted, or an account could be out of letters without a link that works.
	mailedLinkLife = 24 * time.Hour
)

// PasswordLink is a link with which a user sets a new password. A user has one at most that was given.
type PasswordLink struct {
	UserID uuid.UUID
	Origin string
	// MailID is the letter that has the link; nil if it was not asked for by mail.
	MailID *uuid.UUID
	// MadeBy is the administrator who answers for the link; the zero UUID is the operator.
	MadeBy    uuid.UUID
	ExpiresAt time.Time
	Email     string `gorm:"->"`

	// secret is only in the link, and not stored.
	secret string
}

// Path is the address of the link on this service.
func (l PasswordLink) Path() string { return passwordAddress + l.secret + "/" }

// LinkPassword makes a link for a user on the operator's behalf, and returns its path and when it expires.
func (s *Service) LinkPassword(ctx context.Context, email string, life time.Duration) (string, time.Time, error) {
	user, err := s.accounts.User(ctx, email)
	if err != nil {
		return "", time.Time{}, err
	}
	defer s.mails.Wake()
	link, err := db.InGormTx(ctx, s.db, func(tx db.GormTx) (PasswordLink, error) {
		return s.MakePasswordLink(ctx, tx, PasswordLink{UserID: user.ID, Email: user.Email}, life)
	})
	return link.Path(), link.ExpiresAt, err
}

// MakePasswordLink makes a link that the administrator gives, or the operator for the zero UUID. If mail is set up, it
// is also mailed, so that a link cannot be made without its user's knowledge.
func (s *Service) MakePasswordLink(
	ctx context.Context, tx db.GormTx, wanted PasswordLink, life time.Duration,
) (PasswordLink, error) {
	if life < minLinkLife || life > maxLinkLife {
		return PasswordLink{}, core.InvalidPayload("A link works for an hour at least and 72 hours at most.")
	}
	wanted.Origin = originGiven
	link, err := storeLink(ctx, tx, wanted, life)
	if err != nil {
		return PasswordLink{}, err
	}
	if err := s.mails.Stage(ctx, tx, mails.KindPassword, link.Email, s.passwordLetter(link)); err != nil {
		return PasswordLink{}, err
	}
	return link, account.AuditUser(ctx, tx, link.MadeBy, link.UserID, "password.link", "works for "+life.String())
}

// storeLink stores a link with a new secret. One that is given replaces the one that was given before.
func storeLink(ctx context.Context, tx db.GormTx, link PasswordLink, life time.Duration) (PasswordLink, error) {
	secret, digest := account.NewSecret()
	err := lockUser(ctx, tx, link.UserID)
	if err == nil && link.Origin == originGiven {
		err = tx.Gorm(ctx).Where("user_id = ? AND origin = ?", link.UserID, originGiven).Delete(&PasswordLink{}).Error
	}
	if err == nil {
		err = tx.Gorm(ctx).Model(&PasswordLink{}).Create(map[string]any{
			"digest": digest, "user_id": link.UserID, "origin": link.Origin, "mail_id": link.MailID,
			"made_by":    db.NonZero(link.MadeBy),
			"expires_at": gorm.Expr("now() + make_interval(secs => ?)", life.Seconds()),
		}).Error
	}
	if err == nil {
		err = tx.Gorm(ctx).Where("digest = ?", digest).Select("expires_at").Take(&link).Error
	}
	if err != nil {
		return PasswordLink{}, fmt.Errorf("make a link for user %s: %w", link.UserID, err)
	}
	link.secret = secret
	return link, nil
}

// findLink finds the link with the secret while it may be used.
func findLink(query *gorm.DB, secret string) (PasswordLink, error) {
	found := PasswordLink{secret: secret}
	err := query.Table("password_links AS l").Joins("JOIN users AS u ON u.id = l.user_id").
		Select("l.user_id, l.origin, l.made_by, l.expires_at, u.email").
		Where("l.digest = ? AND l.expires_at > now() AND u.disabled_at IS NULL", account.Digest(secret)).
		Where("l.made_by IS NULL OR "+account.Administered, gorm.Expr("l.made_by")).
		Take(&found).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return PasswordLink{}, noSuchLink()
	}
	if err != nil {
		return PasswordLink{}, fmt.Errorf("look a link up: %w", err)
	}
	return found, nil
}

// passwordLink finds the valid link with the secret.
func (s *Service) passwordLink(ctx context.Context, secret string) (PasswordLink, error) {
	return findLink(s.db.Gorm.WithContext(ctx), secret)
}

// resetPassword sets the password of the user to whom the link belongs. The link works once; all links and sessions of
// the user end, and so do sign-ins that have not got further than the password. The second factor stays, unless a
// mailed link is the first proof of the address.
func (s *Service) resetPassword(ctx context.Context, secret string, form newPasswordForm, from Browser) error {
	if _, err := s.passwordLink(ctx, secret); err != nil {
		return err
	}
	hash, err := s.accounts.Hash(ctx, form.New)
	if err != nil {
		return err
	}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		// Of two concurrent requests one finds the link, because the new password ends all links.
		lock := clause.Locking{Strength: clause.LockingStrengthUpdate, Table: clause.Table{Name: "l"}}
		used, err := findLink(tx.Gorm(ctx).Clauses(lock), secret)
		if err != nil {
			return err
		}
		if used.Origin == originMailed { // The link has arrived at the address.
			if _, err := s.claim(ctx, tx, used.UserID, "with a link that was mailed"); err != nil {
				return err
			}
		}
		if err := updatePassword(ctx, tx, used.UserID, map[string]any{"password_hash": hash}); err != nil {
			return err
		}
		revoked, err := revokeIf(ctx, tx, used.UserID, form.RevokeTokens)
		if err != nil {
			return err
		}
		detail := fmt.Sprintf("with a link that was %s, all sessions ended, %s%s", used.Origin, revoked, from.Origin())
		return s.accounts.RecordChange(ctx, tx, used.UserID, used.UserID, "password.reset", detail)
	})
}

// noSuchLink is also the answer to a link that never existed.
func noSuchLink() error {
	return core.NewError(api.CodeNotFound,
		"The link does not work: it was used, replaced or has expired. Ask for a new one.")
}

// PurgeSignIns deletes links and sign-ins that have expired, and mails that could not be sent for three days.
func (s *Service) PurgeSignIns(ctx context.Context) (int64, error) {
	var total int64
	for _, expired := range []any{&PasswordLink{}, &challenge{}} {
		deleted := s.db.Gorm.WithContext(ctx).Where("expires_at <= now()").Delete(expired)
		if deleted.Error != nil {
			return total, fmt.Errorf("delete what has expired: %w", deleted.Error)
		}
		total += deleted.RowsAffected
	}
	letters, err := s.mails.PurgeMails(ctx)
	return total + letters, err
}
