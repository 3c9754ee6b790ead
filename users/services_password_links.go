package users

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	minLinkLife = time.Hour
	maxLinkLife = 72 * time.Hour
	// mailedLinkLife is how long a link works that was requested by mail.
	mailedLinkLife = 2 * time.Hour
)

// passwordLink is a link with which a user sets a new password.
type passwordLink struct {
	UserID    uuid.UUID
	Email     string
	ExpiresAt time.Time

	// secret is only in the link, and not stored.
	secret string
}

// Path is the address of the link on this service.
func (l passwordLink) Path() string { return passwordAddress + l.secret + "/" }

// linkPassword makes a link for a member, which replaces the previous one. Anybody with the link can act as the user in
// all of the user's organizations, so the principal has to administer each of them.
func (s *Service) linkPassword(
	ctx context.Context, principal core.Principal, userID uuid.UUID, life time.Duration,
) (passwordLink, error) {
	defer s.wakeMails()
	return db.InTx(ctx, s.db, func(tx db.Tx) (passwordLink, error) {
		member, err := lockMember(ctx, tx, principal.OrgID, userID)
		if err != nil {
			return passwordLink{}, err
		}
		if err := mayManage(principal, member.Role); err != nil {
			return passwordLink{}, err
		}
		if err := mustAdminister(ctx, tx, principal.UserID, member); err != nil {
			return passwordLink{}, err
		}
		return s.makePasswordLink(ctx, tx, principal.UserID, userID, life)
	})
}

// mustAdminister refuses what would give an administrator the account of a member who belongs to others as well.
func mustAdminister(ctx context.Context, tx db.Tx, adminID uuid.UUID, member Member) error {
	administers, err := administersAll(ctx, tx, adminID, member.ID)
	if err != nil || administers {
		return err
	}
	return core.NewError(core.CodePermissionDenied, member.Email+" belongs to an organization in which you do not "+
		"manage this person, or operates the service. Ask the operator of the service.")
}

// LinkPassword makes a link for a user on the operator's behalf, and returns its path and when it expires.
func (s *Service) LinkPassword(ctx context.Context, email string, life time.Duration) (string, time.Time, error) {
	user, err := s.User(ctx, email)
	if err != nil {
		return "", time.Time{}, err
	}
	defer s.wakeMails()
	link, err := db.InTx(ctx, s.db, func(tx db.Tx) (passwordLink, error) {
		return s.makePasswordLink(ctx, tx, uuid.Nil, user.ID, life)
	})
	return link.Path(), link.ExpiresAt, err
}

// makePasswordLink makes a link that the administrator gives, or the operator for the zero UUID. If mail is set up, it
// is also mailed, so that a link cannot be made without its user's knowledge.
func (s *Service) makePasswordLink(
	ctx context.Context, tx db.Tx, madeBy, userID uuid.UUID, life time.Duration,
) (passwordLink, error) {
	if life < minLinkLife || life > maxLinkLife {
		return passwordLink{}, core.InvalidPayload("A link works for an hour at least and 72 hours at most.")
	}
	secret, digest, _ := newSecret()
	link, err := upsertPasswordLink(ctx, tx, newPasswordLink{
		userID: userID, origin: originGiven, digest: digest, madeBy: madeBy, life: life,
	})
	if err != nil {
		return passwordLink{}, err
	}
	link.secret = secret
	if err := s.mailPasswordLink(ctx, tx, link); err != nil {
		return passwordLink{}, err
	}
	return link, auditUser(ctx, tx, madeBy, userID, "password.link", "works for "+life.String())
}

// resetPassword sets the password of the user to whom the link belongs. The link works once; all links and sessions of
// the user end, and so do sign-ins that have not got further than the password. The second factor stays.
func (s *Service) resetPassword(ctx context.Context, secret, password string, from browser) error {
	if _, err := s.passwordLink(ctx, secret); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
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
		detail := fmt.Sprintf("with a link that was %s, all sessions ended, %s", used.origin, from.origin())
		return auditUser(ctx, tx, used.userID, used.userID, "password.reset", detail)
	})
}

// noSuchLink is also the answer to a link that never existed.
func noSuchLink() error {
	return core.NewError(core.CodeNotFound,
		"The link does not work: it was used, replaced or has expired. Ask for a new one.")
}
