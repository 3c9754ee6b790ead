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
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/factors"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// finishProvider ends the sign-in that a browser has begun at the provider. The step is used up first, so that an
// answer counts only once, whatever its result is.
func (s *Service) finishProvider(
	ctx context.Context, secret, code string, visitor pages.Visitor, from Browser,
) (outcome, challenge, error) {
	waiting, err := takeChallenge(ctx, s.db.Gorm, secret)
	if err != nil {
		return outcome{}, challenge{}, err
	}
	if waiting.Purpose == purposeCode {
		return outcome{}, challenge{}, noSuchChallenge()
	}
	who, err := s.cfg.OpenID.redeem(ctx, secret, code)
	if err != nil {
		return outcome{}, waiting, err
	}
	if waiting.Purpose == purposeProve {
		return outcome{}, waiting, s.proveAtProvider(ctx, waiting.UserID, who, visitor, from)
	}
	known, err := s.userOf(ctx, who)
	if err != nil {
		return outcome{}, waiting, err
	}
	known.Next = waiting.Next
	into, err := s.passFirst(ctx, known, from.how("at the provider"), from)
	return into, waiting, err
}

// proveAtProvider records that the visitor has just confirmed at the provider who they are.
func (s *Service) proveAtProvider(
	ctx context.Context, userID uuid.UUID, who person, visitor pages.Visitor, from Browser,
) error {
	owner, err := s.identity(ctx, who)
	if err != nil {
		return err
	}
	if owner == uuid.Nil || owner != userID || visitor.UserID != userID {
		return core.PermissionDenied("You have signed in at the provider as somebody else.")
	}
	if age := time.Since(who.AskedAt); age > proofAge || age < -clockSkew {
		return core.PermissionDenied(
			"The provider has not asked for your password again, or does not say when. Sign in here with a password.")
	}
	return s.noteProof(ctx, visitor, "at the provider", from)
}

// userOf returns the user who signs in at the provider as the person, and links or makes the account the first time. An
// account with a second factor is linked when its code was right: the challenge has the link until then.
func (s *Service) userOf(ctx context.Context, who person) (challenge, error) {
	known, err := s.identity(ctx, who)
	if err != nil || known != uuid.Nil {
		return challenge{UserID: known}, err
	}
	id := core.NewID()
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (challenge, error) {
		lock := clause.Locking{Strength: clause.LockingStrengthUpdate}
		holder, err := gorm.G[account.User](tx.Gorm(ctx), lock).Where("email = ?", who.Email).Take(ctx)
		switch {
		case errors.Is(err, gorm.ErrRecordNotFound):
			made, err := s.makeUserOf(ctx, tx, id, who)
			return challenge{UserID: made}, err
		case err != nil:
			return challenge{}, fmt.Errorf("look for the account of an identity: %w", err)
		}
		if err := s.claimAtProvider(ctx, tx, holder); err != nil {
			return challenge{}, err
		}
		hasFactor, err := factors.HasIn(ctx, tx, holder.ID)
		if err != nil {
			return challenge{}, err
		}
		if hasFactor {
			waiting := challenge{UserID: holder.ID, Issuer: who.Issuer, Subject: who.Subject}
			return waiting, mayBeLinked(ctx, tx, holder.ID, who)
		}
		return challenge{UserID: holder.ID}, s.linkIdentity(ctx, tx, holder.ID, who)
	})
}

// claimAtProvider gives an account to the person whose address the provider has verified. Whoever had made the account
// may know its password, which therefore ends, too.
func (s *Service) claimAtProvider(ctx context.Context, tx db.GormTx, holder account.User) error {
	if holder.DisabledAt != nil {
		return accountDisabled()
	}
	first, err := s.claim(ctx, tx, holder.ID, "at the provider")
	if err != nil || !first {
		return err
	}
	return updatePassword(ctx, tx, holder.ID, map[string]any{"password_hash": ""})
}

// identity is an account at the provider that belongs to a user.
type identity struct {
	Issuer  string `gorm:"primaryKey"`
	Subject string `gorm:"primaryKey"`
	UserID  uuid.UUID
}

// identity returns the user who is linked to the person; the zero UUID if there is none.
func (s *Service) identity(ctx context.Context, who person) (uuid.UUID, error) {
	found, err := gorm.G[identity](s.db.Gorm).Where("issuer = ? AND subject = ?", who.Issuer, who.Subject).Take(ctx)
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		return uuid.Nil, fmt.Errorf("look an identity up: %w", err)
	}
	return found.UserID, nil
}

// mayBeLinked refuses to link two different people: an account that is linked already has the address that the provider
// has since given to another person.
func mayBeLinked(ctx context.Context, tx db.GormTx, userID uuid.UUID, who person) error {
	linked, err := gorm.G[identity](tx.Gorm(ctx)).Where("user_id = ? AND issuer = ?", userID, who.Issuer).
		Count(ctx, "*")
	switch {
	case err != nil:
		return fmt.Errorf("look for the identities of user %s: %w", userID, err)
	case linked > 0:
		return core.PermissionDenied("The account with your address belongs to another account of " +
			"the provider. Ask the operator of the service to unlink it.")
	default:
		return nil
	}
}

// makeUserOf makes the account of a person. The provider has verified the address.
func (s *Service) makeUserOf(ctx context.Context, tx db.GormTx, id uuid.UUID, who person) (uuid.UUID, error) {
	if !s.cfg.OpenID.cfg.CreateUsers {
		return uuid.Nil, core.PermissionDenied(
			"There is no account with your address. Ask an administrator of your organization to invite you.")
	}
	user := account.User{ID: id, Email: who.Email, Name: who.Name, AddressConfirmed: true}
	if err := s.check.Body(user); err != nil {
		return uuid.Nil, err
	}
	err := account.InsertUser(ctx, tx, user)
	if errors.Is(err, account.ErrTaken) {
		return uuid.Nil, core.Unavailable(err) // Another request has just made the account.
	}
	if err != nil {
		return uuid.Nil, err
	}
	if err := account.AuditUser(ctx, tx, id, id, "user.create", who.Email+" at the provider"); err != nil {
		return uuid.Nil, err
	}
	return id, s.linkIdentity(ctx, tx, id, who)
}

func (s *Service) linkIdentity(ctx context.Context, tx db.GormTx, userID uuid.UUID, who person) error {
	if err := mayBeLinked(ctx, tx, userID, who); err != nil {
		return err
	}
	link := identity{Issuer: who.Issuer, Subject: who.Subject, UserID: userID}
	if err := gorm.G[identity](tx.Gorm(ctx)).Create(ctx, &link); err != nil {
		return fmt.Errorf("link an identity: %w", err)
	}
	if err := account.AuditUser(ctx, tx, userID, userID, "identity.link", who.Issuer); err != nil {
		return err
	}
	return s.accounts.Tell(ctx, tx, userID, "identity.link", mails.Quoted(who.Issuer))
}

// Unlink removes the links of a user to accounts at the provider. The next sign-in there links again, by the address.
func (s *Service) Unlink(ctx context.Context, email string) error {
	user, err := s.accounts.User(ctx, email)
	if err != nil {
		return err
	}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		if _, err := gorm.G[identity](tx.Gorm(ctx)).Where("user_id = ?", user.ID).Delete(ctx); err != nil {
			return fmt.Errorf("unlink user %s: %w", user.ID, err)
		}
		return account.AuditUser(ctx, tx, uuid.Nil, user.ID, "identity.unlink", "")
	})
}
