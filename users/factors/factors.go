// Package factors keeps the second factors of users: secrets of authenticator apps, and recovery codes.
package factors

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
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// Service keeps second factors.
type Service struct {
	db       *db.DB
	keys     keyring.Ring
	accounts *account.Service
}

// SealedTables have the encrypted secrets of users: those of second factors, and those in mails that wait.
func SealedTables() []keyring.Table {
	sealed := []string{"sealed"}
	return []keyring.Table{
		{Name: "second_factors", ID: "user_id", Columns: sealed}, {Name: "mails", ID: "id", Columns: sealed},
	}
}

// NewService makes the service. The keys encrypt the secrets.
func NewService(database *db.DB, keys keyring.Ring, accounts *account.Service) *Service {
	return &Service{db: database, keys: keys, accounts: accounts}
}

// Begin makes a secret for the user, who has to show a code of it before it counts. A secret that is being set up
// is replaced; one that counts is not.
func (s *Service) Begin(ctx context.Context, userID uuid.UUID, origin string) error {
	secret := newFactor()
	sealed, err := s.keys.Seal(secret, factorPlace(userID))
	if err != nil {
		return core.Unavailable(err)
	}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		added := tx.Gorm(ctx).Model(&factor{}).Clauses(clause.OnConflict{
			OnConstraint: "second_factors_pkey",
			DoUpdates:    clause.Assignments(map[string]any{"sealed": sealed, "created_at": gorm.Expr("now()")}),
			Where:        clause.Where{Exprs: []clause.Expression{gorm.Expr("second_factors.confirmed_at IS NULL")}},
		}).Create(map[string]any{"user_id": userID, "sealed": sealed})
		if added.Error != nil {
			return fmt.Errorf("add a second factor: %w", added.Error)
		}
		if added.RowsAffected == 0 {
			return core.InvalidPayload("You have set up an authenticator app already. Remove it first.")
		}
		return account.AuditUser(ctx, tx, userID, userID, "second_factor.begin", origin)
	})
}

// Pending is the secret that the user is setting up; false if there is none.
func (s *Service) Pending(ctx context.Context, visitor pages.Visitor) (Enrolment, bool, error) {
	factor, err := findFactor(s.db.Gorm.WithContext(ctx), visitor.UserID)
	if err != nil || !factor.isPending() {
		return Enrolment{}, false, err
	}
	secret, err := s.keys.Open(factor.Sealed, factorPlace(visitor.UserID))
	if err != nil {
		return Enrolment{}, false, core.Unavailable(err)
	}
	drawn, err := newEnrolment(secret, visitor.Email)
	return drawn, true, err
}

// Has reports whether the user has a second factor that counts, and how many recovery codes are left.
func (s *Service) Has(ctx context.Context, userID uuid.UUID) (bool, int, error) {
	factor, err := findFactor(s.db.Gorm.WithContext(ctx), userID)
	return factor.ConfirmedAt != nil, factor.CodesLeft, err
}

// HasIn is the first result of Has, in a transaction.
func HasIn(ctx context.Context, tx db.GormTx, userID uuid.UUID) (bool, error) {
	factor, err := findFactor(tx.Gorm(ctx), userID)
	return factor.ConfirmedAt != nil, err
}

// Confirm makes the secret count for which the user shows a code, and returns the recovery codes.
func (s *Service) Confirm(ctx context.Context, userID uuid.UUID, code, origin string) ([]string, error) {
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) ([]string, error) {
		factor, err := findFactor(locked(ctx, tx), userID)
		if err != nil {
			return nil, err
		}
		if !factor.isPending() {
			return nil, core.NewError(api.CodeNotFound, "No authenticator app is being set up. Begin again.")
		}
		step, err := s.stepOf(factor, code)
		if err != nil {
			return nil, err
		}
		if step == 0 {
			return nil, wrongCode("is not the code that the app shows now")
		}
		codes, digests := newRecoveryCodes()
		_, err = changeFactor(ctx, tx, userID, map[string]any{
			"confirmed_at": gorm.Expr("now()"), "last_step": step, "recovery": recoveryColumn(digests), "failures": 0,
		})
		if err != nil {
			return nil, err
		}
		return codes, s.accounts.RecordChange(ctx, tx, userID, userID, "second_factor.add", origin)
	})
}

// RenewCodes replaces the recovery codes of the user.
func (s *Service) RenewCodes(ctx context.Context, userID uuid.UUID, origin string) ([]string, error) {
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) ([]string, error) {
		codes, digests := newRecoveryCodes()
		renewed, err := changeFactor(ctx, tx, userID, map[string]any{"recovery": recoveryColumn(digests)},
			"confirmed_at IS NOT NULL")
		if err != nil {
			return nil, err
		}
		if !renewed {
			return nil, core.NewError(api.CodeNotFound, "You have no second factor.")
		}
		return codes, s.accounts.RecordChange(ctx, tx, userID, userID, "second_factor.renew_codes", origin)
	})
}

// RemoveOwn removes the second factor of the user, or the one that is being set up. It is not an error if there
// is none.
func (s *Service) RemoveOwn(ctx context.Context, userID uuid.UUID, origin string) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		return s.Remove(ctx, tx, userID, userID, origin)
	})
}

// RemoveOf removes the second factor of a user on the operator's behalf.
func (s *Service) RemoveOf(ctx context.Context, email string) error {
	user, err := s.accounts.User(ctx, email)
	if err != nil {
		return err
	}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		if _, err := deleteFactor(ctx, tx, user.ID); err != nil {
			return err
		}
		return s.accounts.RecordChange(ctx, tx, uuid.Nil, user.ID, "second_factor.remove", "by the operator")
	})
}

// Remove removes the second factor of a user, if there is one, and leaves an audit record with the detail.
func (s *Service) Remove(ctx context.Context, tx db.GormTx, actor, userID uuid.UUID, detail string) error {
	removed, err := deleteFactor(ctx, tx, userID)
	if err != nil || !removed {
		return err
	}
	return s.accounts.RecordChange(ctx, tx, actor, userID, "second_factor.remove", detail)
}

// Use checks a code of the app or a recovery code, and uses it up. A refused code is counted even if the caller
// does nothing further. Recovery codes do not wait: nobody guesses 80 bits, and whoever has the password alone must not
// lock the user out by wrong codes.
func (s *Service) Use(ctx context.Context, userID uuid.UUID, code, origin string) error {
	refusal, err := db.InGormTx(ctx, s.db, func(tx db.GormTx) (error, error) {
		factor, err := findFactor(locked(ctx, tx), userID)
		if err != nil {
			return nil, err
		}
		if factor.ConfirmedAt == nil {
			return wrongCode("is of no use: you have no second factor"), nil
		}
		wait := core.Seconds(factor.Wait).Truncate(time.Millisecond)
		if wait > 0 && isAppCode(bare(code)) {
			refused := core.RateLimited("", wait)
			refused.Detail = "Too many wrong codes. Try again in " + core.Plural(refused.RetrySeconds(), "second") +
				", or enter a recovery code."
			return refused, nil
		}
		used, detail, err := s.useIn(ctx, tx, factor, bare(code), origin)
		if err != nil {
			return nil, err
		}
		if used {
			return nil, nil //nolint:nilnil // no refusal and no error: the code was right
		}
		_, err = changeFactor(ctx, tx, userID, map[string]any{
			"failures": gorm.Expr("failures + 1"), "failed_at": gorm.Expr("now()"),
		})
		if err != nil {
			return nil, err
		}
		return wrongCode(detail),
			account.AuditUser(ctx, tx, userID, userID, "second_factor.refuse", "wrong code "+origin)
	})
	if err != nil {
		return err
	}
	return refusal
}

// useIn reports whether the code was right, and else why not.
func (s *Service) useIn(
	ctx context.Context, tx db.GormTx, factor factor, code, origin string,
) (bool, string, error) {
	if !isAppCode(code) {
		digest := recoveryDigest(code)
		used, err := changeFactor(ctx, tx, factor.UserID, map[string]any{
			"recovery": gorm.Expr("array_remove(recovery, ?)", digest), "failures": 0,
		}, "? = ANY (recovery)", digest)
		if used && err == nil {
			err = s.accounts.RecordChange(ctx, tx, factor.UserID, factor.UserID, "second_factor.recover", origin)
		}
		return used, "is not an unused recovery code", err
	}
	step, err := s.stepOf(factor, code)
	if err != nil || step == 0 {
		return false, "is wrong, or was used before. Wait for the next one", err
	}
	_, err = changeFactor(ctx, tx, factor.UserID, map[string]any{"last_step": step, "failures": 0})
	return true, "", err
}

func (s *Service) stepOf(factor factor, code string) (int64, error) {
	secret, err := s.keys.Open(factor.Sealed, factorPlace(factor.UserID))
	if err != nil {
		return 0, core.Unavailable(err)
	}
	return acceptedStep(secret, bare(code), factor.Now, factor.LastStep), nil
}

func wrongCode(detail string) error {
	return core.InvalidField(api.FieldError{Parameter: "code", Code: "wrong", Detail: detail})
}

// factor is a user's second factor. A user who has none has its zero value.
type factor struct {
	UserID uuid.UUID `gorm:"primaryKey"`
	Sealed []byte
	// ConfirmedAt is nil until the user has shown a code.
	ConfirmedAt *time.Time
	LastStep    int64
	// CodesLeft is how many recovery codes were not used.
	CodesLeft int `gorm:"->"`
	// Now is the time of the database, in seconds.
	Now int64 `gorm:"->"`
	// Wait is for how many seconds no code is checked, because too many were wrong.
	Wait float64 `gorm:"->"`
}

// TableName is the table of second factors.
func (factor) TableName() string { return "second_factors" }

// isPending reports whether the factor is being set up.
func (f factor) isPending() bool { return f.Sealed != nil && f.ConfirmedAt == nil }

// factorColumns are those of a factor. After too many failures no code is checked for a minute after the last one, so
// that a million codes cannot be tried.
const factorColumns = `user_id, sealed, confirmed_at, last_step, cardinality(recovery) AS codes_left,
	floor(extract(epoch FROM now()))::bigint AS now,
	CASE WHEN failures >= ? THEN greatest(0, extract(epoch FROM failed_at + interval '1 minute' - now()))::float8
		ELSE 0 END AS wait`

// findFactor finds a user's factor.
func findFactor(query *gorm.DB, userID uuid.UUID) (factor, error) {
	var found factor
	err := query.Select(factorColumns, freeFailures).Where("user_id = ?", userID).Take(&found).Error
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		return factor{}, fmt.Errorf("look a second factor up: %w", err)
	}
	return found, nil
}

// locked keeps two requests from using one code.
func locked(ctx context.Context, tx db.GormTx) *gorm.DB {
	return tx.Gorm(ctx).Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
}

// changeFactor reports whether the user has a factor for which the conditions hold. If so, it is changed.
func changeFactor(
	ctx context.Context, tx db.GormTx, userID uuid.UUID, columns map[string]any, conditions ...any,
) (bool, error) {
	query := tx.Gorm(ctx).Model(&factor{UserID: userID})
	if len(conditions) > 0 {
		query = query.Where(conditions[0], conditions[1:]...)
	}
	changed := query.Updates(columns)
	if changed.Error != nil {
		return false, fmt.Errorf("change a second factor: %w", changed.Error)
	}
	return changed.RowsAffected > 0, nil
}

// recoveryColumn is the value of the column of recovery codes.
func recoveryColumn(digests [][]byte) clause.Expr {
	return clause.Expr{SQL: "ARRAY[?]::bytea[]", Vars: []any{digests}, WithoutParentheses: true}
}

// deleteFactor reports whether the removed factor had counted.
func deleteFactor(ctx context.Context, tx db.GormTx, userID uuid.UUID) (bool, error) {
	removed := factor{UserID: userID}
	counted := clause.Returning{Columns: []clause.Column{{Name: "confirmed_at"}}}
	err := tx.Gorm(ctx).Clauses(counted).Delete(&removed).Error
	if err != nil {
		return false, fmt.Errorf("remove a second factor: %w", err)
	}
	return removed.ConfirmedAt != nil, nil
}
