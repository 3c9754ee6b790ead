package signin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// mailPasswordLink sends the user a link that an administrator or the operator has made.
func (s *Service) mailPasswordLink(ctx context.Context, tx db.Tx, link PasswordLink) error {
	return s.mails.Stage(ctx, tx, mails.KindPassword, link.Email, s.passwordLetter(link))
}

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
	err := db.Do(ctx, s.db, func(tx db.Tx) error {
		return s.mails.Stage(ctx, tx, mails.KindForgotten, account.NormalizeEmail(email), nil)
	})
	s.mails.Wake()
	return err
}

// WriteForgotten makes a link for the user with the address; nil if there is no such user, or one who may not have a
// link. Users who only sign in at the provider get none: a password would outlive the account there.
func (s *Service) WriteForgotten(ctx context.Context, email string) (*mails.Letter, error) {
	user, err := s.accounts.User(ctx, email)
	if core.HasCode(err, core.CodeNotFound) {
		return nil, nil //nolint:nilnil // nobody to write to
	}
	if err != nil {
		return nil, err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (*mails.Letter, error) {
		may, err := mayForget(ctx, tx, user.ID)
		if err != nil || !may {
			return nil, err
		}
		secret, digest, _ := account.NewSecret()
		link, err := upsertPasswordLink(ctx, tx, newPasswordLink{
			userID: user.ID, origin: originMailed, digest: digest, life: mailedLinkLife,
		})
		if err != nil {
			return nil, err
		}
		link.secret = secret
		return s.passwordLetter(link), account.AuditUser(ctx, tx, user.ID, user.ID, "password.ask", "a link was mailed")
	})
}

const (
	minLinkLife = time.Hour
	maxLinkLife = 72 * time.Hour
	// mailedLinkLife is how long a link works that was requested by mail.
	mailedLinkLife = 2 * time.Hour
)

// PasswordLink is a link with which a user sets a new password.
type PasswordLink struct {
	UserID    uuid.UUID
	Email     string
	ExpiresAt time.Time

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
	link, err := db.InTx(ctx, s.db, func(tx db.Tx) (PasswordLink, error) {
		return s.MakePasswordLink(ctx, tx, uuid.Nil, user.ID, life)
	})
	return link.Path(), link.ExpiresAt, err
}

// MakePasswordLink makes a link that the administrator gives, or the operator for the zero UUID. If mail is set up, it
// is also mailed, so that a link cannot be made without its user's knowledge.
func (s *Service) MakePasswordLink(
	ctx context.Context, tx db.Tx, madeBy, userID uuid.UUID, life time.Duration,
) (PasswordLink, error) {
	if life < minLinkLife || life > maxLinkLife {
		return PasswordLink{}, core.InvalidPayload("A link works for an hour at least and 72 hours at most.")
	}
	secret, digest, _ := account.NewSecret()
	link, err := upsertPasswordLink(ctx, tx, newPasswordLink{
		userID: userID, origin: originGiven, digest: digest, madeBy: madeBy, life: life,
	})
	if err != nil {
		return PasswordLink{}, err
	}
	link.secret = secret
	if err := s.mailPasswordLink(ctx, tx, link); err != nil {
		return PasswordLink{}, err
	}
	return link, account.AuditUser(ctx, tx, madeBy, userID, "password.link", "works for "+life.String())
}

// resetPassword sets the password of the user to whom the link belongs. The link works once; all links and sessions of
// the user end, and so do sign-ins that have not got further than the password. The second factor stays.
func (s *Service) resetPassword(ctx context.Context, secret, password string, from Browser) error {
	if _, err := s.passwordLink(ctx, secret); err != nil {
		return err
	}
	hash, err := s.passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		used, err := deletePasswordLink(ctx, tx, secret)
		if err != nil {
			return err
		}
		// A link that arrived by mail has proven who owns the address.
		if err := updatePassword(ctx, tx, used.userID, hash, addressProof(used.origin == originMailed)); err != nil {
			return err
		}
		detail := fmt.Sprintf("with a link that was %s, all sessions ended, %s", used.origin, from.Origin())
		return account.AuditUser(ctx, tx, used.userID, used.userID, "password.reset", detail)
	})
}

// noSuchLink is also the answer to a link that never existed.
func noSuchLink() error {
	return core.NewError(core.CodeNotFound,
		"The link does not work: it was used, replaced or has expired. Ask for a new one.")
}
