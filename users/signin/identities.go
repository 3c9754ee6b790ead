package signin

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// finishProvider ends the sign-in that a browser has begun at the provider. The step is used up first, so that an
// answer counts only once, whatever its result is.
func (s *Service) finishProvider(
	ctx context.Context, secret, code string, visitor pages.Visitor, from Browser,
) (outcome, challenge, error) {
	waiting, err := db.InTx(ctx, s.db, func(tx db.Tx) (challenge, error) {
		return deleteChallenge(ctx, tx, secret, "")
	})
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
	userID, err := s.userOf(ctx, who)
	if err != nil {
		return outcome{}, waiting, err
	}
	into, err := s.passFirst(ctx, userID, waiting.Next, from.how("at the provider"), from)
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
		return core.NewError(core.CodePermissionDenied, "You have signed in at the provider as somebody else.")
	}
	if time.Since(who.AskedAt) > proofAge {
		return core.NewError(core.CodePermissionDenied,
			"The provider has not asked for your password again, or does not say when. Sign in here with a password.")
	}
	return s.noteProof(ctx, visitor, "at the provider", from)
}

// userOf returns the user who signs in at the provider as the person, and links or makes the account the first time.
func (s *Service) userOf(ctx context.Context, who person) (uuid.UUID, error) {
	known, err := s.identity(ctx, who)
	if err != nil || known != uuid.Nil {
		return known, err
	}
	id, err := core.NewID()
	if err != nil {
		return uuid.Nil, err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (uuid.UUID, error) {
		candidate, err := lockCandidate(ctx, tx, who)
		if err != nil {
			return uuid.Nil, err
		}
		if candidate == nil {
			return s.makeUserOf(ctx, tx, id, who)
		}
		if err := candidate.mayBeLinked(); err != nil {
			return uuid.Nil, err
		}
		return candidate.id, linkIdentity(ctx, tx, candidate.id, who)
	})
}

// candidate is the account with the address of a person who signs in at the provider for the first time.
type candidate struct {
	id uuid.UUID
	// confirmed is set if the holder of the account has also proven to own the address.
	confirmed bool
	disabled  bool
	// linked says that another account of the provider belongs to it.
	linked bool
}

// mayBeLinked refuses to link two different people: an account that another person may have made for the address, and
// an address that the provider has since given to another person.
func (c candidate) mayBeLinked() error {
	switch {
	case c.disabled:
		return accountDisabled()
	case c.linked:
		return core.NewError(core.CodePermissionDenied, "The account with your address belongs to another account of "+
			"the provider. Ask the operator of the service to unlink it.")
	case !c.confirmed:
		return core.NewError(core.CodePermissionDenied, "There is an account with your address that was made with a "+
			"link, and the address has not been confirmed yet. Use \"Forgotten password\" to confirm the "+
			"address by mail, or ask the operator of the service.")
	default:
		return nil
	}
}

func (s *Service) makeUserOf(ctx context.Context, tx db.Tx, id uuid.UUID, who person) (uuid.UUID, error) {
	if !s.cfg.OpenID.cfg.CreateUsers {
		return uuid.Nil, core.NewError(core.CodePermissionDenied,
			"There is no account with your address. Ask an administrator of your organization to invite you.")
	}
	if err := s.check.Body(account.User{ID: id, Email: who.Email, Name: who.Name}); err != nil {
		return uuid.Nil, err
	}
	added, err := insertProvidedUser(ctx, tx, id, who)
	if err != nil {
		return uuid.Nil, err
	}
	if !added {
		return uuid.Nil, core.Unavailable(account.ErrTaken) // Somebody has just made the account.
	}
	if err := account.AuditUser(ctx, tx, id, id, "user.create", who.Email+" at the provider"); err != nil {
		return uuid.Nil, err
	}
	return id, linkIdentity(ctx, tx, id, who)
}

func linkIdentity(ctx context.Context, tx db.Tx, userID uuid.UUID, who person) error {
	if err := insertIdentity(ctx, tx, userID, who); err != nil {
		return err
	}
	return account.AuditUser(ctx, tx, userID, userID, "identity.link", who.Issuer)
}

// Unlink removes the links of a user to accounts at the provider. The next sign-in there links again, by the address.
func (s *Service) Unlink(ctx context.Context, email string) error {
	user, err := s.accounts.User(ctx, email)
	if err != nil {
		return err
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		if err := deleteIdentities(ctx, tx, user.ID); err != nil {
			return err
		}
		return account.AuditUser(ctx, tx, uuid.Nil, user.ID, "identity.unlink", "")
	})
}
