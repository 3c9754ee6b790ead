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

// BeginFactor makes a secret for the user, who has to show a code of it before it counts. A secret that is being set up
// is replaced; one that counts is not.
func (s *Service) BeginFactor(ctx context.Context, userID uuid.UUID, from Browser) error {
	secret := newFactor()
	sealed, err := s.cfg.Keys.Seal(secret, factorPlace(userID))
	if err != nil {
		return core.Unavailable(err)
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		added, err := upsertFactor(ctx, tx, userID, sealed)
		if err == nil && !added {
			err = core.InvalidPayload("You have set up an authenticator app already. Remove it first.")
		}
		if err != nil {
			return err
		}
		return account.AuditUser(ctx, tx, userID, userID, "second_factor.begin", from.Origin())
	})
}

// pendingFactor is the secret that the user is setting up; false if there is none.
func (s *Service) pendingFactor(ctx context.Context, visitor pages.Visitor) (enrolment, bool, error) {
	factor, err := s.factor(ctx, visitor.UserID)
	if err != nil || factor == nil || factor.confirmed {
		return enrolment{}, false, err
	}
	secret, err := s.cfg.Keys.Open(factor.sealed, factorPlace(visitor.UserID))
	if err != nil {
		return enrolment{}, false, core.Unavailable(err)
	}
	drawn, err := newEnrolment(secret, visitor.Email)
	return drawn, true, err
}

// HasFactor reports whether the user has a second factor that counts, and how many recovery codes are left.
func (s *Service) HasFactor(ctx context.Context, userID uuid.UUID) (bool, int, error) {
	factor, err := s.factor(ctx, userID)
	if err != nil || factor == nil || !factor.confirmed {
		return false, 0, err
	}
	return true, factor.left, nil
}

// confirmFactor makes the secret count for which the user shows a code, and returns the recovery codes.
func (s *Service) confirmFactor(ctx context.Context, userID uuid.UUID, code string, from Browser) ([]string, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) ([]string, error) {
		factor, err := lockFactor(ctx, tx, userID)
		if err != nil {
			return nil, err
		}
		if factor == nil || factor.confirmed {
			return nil, core.NewError(core.CodeNotFound, "No authenticator app is being set up. Begin again.")
		}
		step, err := s.stepOf(*factor, userID, code)
		if err != nil {
			return nil, err
		}
		if step == 0 {
			return nil, wrongCode("is not the code that the app shows now")
		}
		codes, digests := newRecoveryCodes()
		if err := updateFactorConfirmed(ctx, tx, userID, step, digests); err != nil {
			return nil, err
		}
		return codes, account.AuditUser(ctx, tx, userID, userID, "second_factor.add", from.Origin())
	})
}

// renewRecoveryCodes replaces the recovery codes of the user.
func (s *Service) renewRecoveryCodes(ctx context.Context, userID uuid.UUID, from Browser) ([]string, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) ([]string, error) {
		codes, digests := newRecoveryCodes()
		renewed, err := updateRecovery(ctx, tx, userID, digests)
		if err != nil {
			return nil, err
		}
		if !renewed {
			return nil, core.NewError(core.CodeNotFound, "You have no second factor.")
		}
		return codes, account.AuditUser(ctx, tx, userID, userID, "second_factor.renew_codes", from.Origin())
	})
}

// removeOwnFactor removes the second factor of the user, or the one that is being set up. It is not an error if there
// is none.
func (s *Service) removeOwnFactor(ctx context.Context, userID uuid.UUID, from Browser) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		return RemoveFactor(ctx, tx, userID, userID, from.Origin())
	})
}

// RemoveFactor removes the second factor of a user on the operator's behalf.
func (s *Service) RemoveFactor(ctx context.Context, email string) error {
	user, err := s.accounts.User(ctx, email)
	if err != nil {
		return err
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		if _, err := deleteFactor(ctx, tx, user.ID); err != nil {
			return err
		}
		return account.AuditUser(ctx, tx, uuid.Nil, user.ID, "second_factor.remove", "by the operator")
	})
}

// RemoveFactor removes the second factor of a user, if there is one, and leaves an audit record with the detail.
func RemoveFactor(ctx context.Context, tx db.Tx, actor, userID uuid.UUID, detail string) error {
	removed, err := deleteFactor(ctx, tx, userID)
	if err != nil || !removed {
		return err
	}
	return account.AuditUser(ctx, tx, actor, userID, "second_factor.remove", detail)
}

// useCode checks a code of the app or a recovery code, and uses it up. A refused code is counted even if the caller
// does nothing further.
func (s *Service) useCode(ctx context.Context, userID uuid.UUID, code string, from Browser) error {
	refusal, err := db.InTx(ctx, s.db, func(tx db.Tx) (error, error) {
		factor, err := lockFactor(ctx, tx, userID)
		if err != nil {
			return nil, err
		}
		if factor == nil || !factor.confirmed {
			return wrongCode("is of no use: you have no second factor"), nil
		}
		if factor.wait > 0 {
			refused := core.RateLimited("", factor.wait)
			refused.Detail = "Too many wrong codes. Try again in " + core.Plural(refused.RetrySeconds(), "second") + "."
			return refused, nil
		}
		used, detail, err := s.useCodeIn(ctx, tx, *factor, userID, bare(code))
		if err != nil {
			return nil, err
		}
		if used {
			return nil, nil //nolint:nilnil // no refusal and no error: the code was right
		}
		if err := updateFactorFailed(ctx, tx, userID); err != nil {
			return nil, err
		}
		return wrongCode(detail),
			account.AuditUser(ctx, tx, userID, userID, "second_factor.refuse", "wrong code "+from.Origin())
	})
	if err != nil {
		return err
	}
	return refusal
}

// useCodeIn reports whether the code was right, and else why not.
func (s *Service) useCodeIn(
	ctx context.Context, tx db.Tx, factor factor, userID uuid.UUID, code string,
) (bool, string, error) {
	if !isAppCode(code) {
		used, err := useRecoveryCode(ctx, tx, userID, recoveryDigest(code))
		if used && err == nil {
			err = account.AuditUser(ctx, tx, userID, userID, "second_factor.recover", "a recovery code was used")
		}
		return used, "is not an unused recovery code", err
	}
	step, err := s.stepOf(factor, userID, code)
	if err != nil || step == 0 {
		return false, "is wrong, or was used before. Wait for the next one", err
	}
	return true, "", updateFactorUsed(ctx, tx, userID, step)
}

func (s *Service) stepOf(factor factor, userID uuid.UUID, code string) (int64, error) {
	secret, err := s.cfg.Keys.Open(factor.sealed, factorPlace(userID))
	if err != nil {
		return 0, core.Unavailable(err)
	}
	return acceptedStep(secret, bare(code), factor.now, factor.lastStep), nil
}

func wrongCode(detail string) error {
	return core.InvalidPayload("Please look at 1 field again.", core.FieldError{
		Parameter: "code", Code: "wrong", Detail: detail,
	})
}

// factor is a user's second factor.
type factor struct {
	sealed    []byte
	confirmed bool
	lastStep  int64
	// left is how many recovery codes were not used.
	left int
	// now is the time of the database, in seconds.
	now int64
	// wait is how long no code is looked at, because too many were wrong.
	wait time.Duration
}
