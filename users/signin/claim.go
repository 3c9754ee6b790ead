package signin

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/factors"
)

// claim notes that a person has proven to own the address of an account. The first proof ends what others may have left
// on it: whoever made the account with an invitation, or imported it, may be somebody else and could otherwise keep the
// owner out, or act as the owner. It reports whether it was the first.
func claim(ctx context.Context, tx db.GormTx, userID uuid.UUID, way string) (bool, error) {
	confirmed, err := gorm.G[account.User](tx.Gorm(ctx)).Where("id = ? AND NOT address_confirmed", userID).
		Update(ctx, "address_confirmed", true)
	if err != nil {
		return false, fmt.Errorf("confirm the address of user %s: %w", userID, err)
	}
	if confirmed == 0 {
		return false, nil
	}
	if err := factors.Remove(ctx, tx, userID, userID, "the address was proven"); err != nil {
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
