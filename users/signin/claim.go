package signin

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// claim notes that a person has proven to own the address of an account. The first proof ends what others may have left
// on it: whoever made the account with an invitation, or imported it, may be somebody else and could otherwise keep the
// owner out, or act as the owner. It reports whether it was the first.
func (s *Service) claim(ctx context.Context, tx db.GormTx, userID uuid.UUID, way string) (bool, error) {
	confirmed, err := gorm.G[account.User](tx.Gorm(ctx)).Where("id = ? AND NOT address_confirmed", userID).
		Update(ctx, "address_confirmed", true)
	if err != nil {
		return false, fmt.Errorf("confirm the address of user %s: %w", userID, err)
	}
	if confirmed == 0 {
		return false, nil
	}
	if err := s.factors.Remove(ctx, tx, userID, userID, "the address was proven"); err != nil {
		return false, err
	}
	if err := tx.Gorm(ctx).Where("user_id = ?", userID).Delete(&identity{}).Error; err != nil {
		return false, fmt.Errorf("unlink user %s: %w", userID, err)
	}
	revoked, err := revokeTokens(ctx, tx, userID)
	if err != nil {
		return false, err
	}
	if err := SignOutUser(ctx, tx, userID); err != nil {
		return false, err
	}
	detail := fmt.Sprintf("the address was proven %s; tokens revoked: %d", way, revoked)
	return true, account.AuditUser(ctx, tx, userID, userID, "user.claim", detail)
}

// revokeIf revokes the tokens of a user who wants it, and returns the words of the audit record.
func revokeIf(ctx context.Context, tx db.GormTx, userID uuid.UUID, wanted bool) (string, error) {
	if !wanted {
		return "", nil
	}
	revoked, err := revokeTokens(ctx, tx, userID)
	return core.Plural(int(revoked), "token") + " revoked, ", err
}

// RevokeTokens revokes the tokens of a user in all organizations on the operator's behalf.
func (s *Service) RevokeTokens(ctx context.Context, userID uuid.UUID) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		revoked, err := revokeTokens(ctx, tx, userID)
		if err != nil {
			return err
		}
		return account.AuditUser(ctx, tx, uuid.Nil, userID, "token.revoke", core.Plural(int(revoked), "token"))
	})
}

// maxTokens bounds the list of tokens.
const maxTokens = 100

// TokenName is what the user of a token recognizes it by.
type TokenName struct{ Label, OrgName string }

// Tokens lists the tokens of a user that work, in all organizations that the user belongs to.
func (s *Service) Tokens(ctx context.Context, userID uuid.UUID) ([]TokenName, error) {
	var found []TokenName
	err := s.db.Gorm.WithContext(ctx).Table("memberships AS m").Joins("JOIN organizations AS o ON o.id = m.org_id").
		Joins("JOIN api_tokens AS t ON t.org_id = m.org_id AND t.user_id = m.user_id").
		Where("m.user_id = ? AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())", userID).
		Select("t.label, o.name AS org_name").Order("t.id DESC").Limit(maxTokens).Find(&found).Error
	if err != nil {
		return nil, fmt.Errorf("list the tokens of user %s: %w", userID, err)
	}
	return found, nil
}

// revokeTokens revokes the tokens of a user in all organizations, and returns how many worked.
func revokeTokens(ctx context.Context, tx db.GormTx, userID uuid.UUID) (int64, error) {
	revoked := tx.Gorm(ctx).Table("api_tokens").
		Where("user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())", userID).
		Update("revoked_at", gorm.Expr("now()"))
	if revoked.Error != nil {
		return 0, fmt.Errorf("revoke the tokens of user %s: %w", userID, revoked.Error)
	}
	return revoked.RowsAffected, nil
}
