package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/mails"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

// MemberRequest asks for a new user who is a member of an organization.
type MemberRequest struct {
	OrgID uuid.UUID
	Role  api.Role
	Email string
	Name  string
	// Password may be empty: the user cannot sign in with one then.
	Password string
}

// CreateMember adds a user together with the membership, or neither.
func (s *Service) CreateMember(ctx context.Context, request MemberRequest) (account.User, error) {
	if err := checkRole(request.Role); err != nil {
		return account.User{}, err
	}
	user, err := s.Accounts.NewUser(ctx, request.Email, request.Name, request.Password)
	if err != nil {
		return account.User{}, err
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (account.User, error) {
		if err := account.InsertUser(ctx, tx, user); err != nil {
			return account.User{}, err
		}
		return user, setMembership(ctx, tx, request.OrgID, user.ID, request.Role)
	})
}

// SetMembership makes the user a member with the role, or changes the member's role, on the operator's behalf.
func (s *Service) SetMembership(ctx context.Context, orgID, userID uuid.UUID, role api.Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		return setMembership(ctx, tx, orgID, userID, role)
	})
}

func setMembership(ctx context.Context, tx db.GormTx, orgID, userID uuid.UUID, role api.Role) error {
	operator := core.Principal{OrgID: orgID}
	added, err := insertMembership(ctx, tx, orgID, userID, role)
	if err != nil {
		return err
	}
	member, err := lockMember(ctx, tx, orgID, userID)
	if err != nil {
		return err
	}
	switch {
	case added:
		return auditMember(ctx, tx, operator, "member.add", userID, member.Email+" as "+string(role))
	case member.Role == role:
		return nil
	}
	if err := updateMembership(ctx, tx, orgID, userID, role); err != nil {
		return err
	}
	detail := fmt.Sprintf("%s from %s to %s", member.Email, member.Role, role)
	return auditMember(ctx, tx, operator, "member.set_role", userID, detail)
}

func checkRole(role api.Role) error {
	if !role.Allows(api.RoleViewer) {
		return core.InvalidPayload("A role is one of owner, admin, author, executor, viewer.")
	}
	return nil
}

// SetOperator sets whether the user may use the operations page, from the user's next page on.
func (s *Service) SetOperator(ctx context.Context, userID uuid.UUID, isOperator bool) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		_, err := gorm.G[account.User](tx.Gorm(ctx)).Where("id = ?", userID).Update(ctx, "is_operator", isOperator)
		if err != nil {
			return fmt.Errorf("set whether user %s is an operator: %w", userID, err)
		}
		detail := "no operator any more"
		if isOperator {
			detail = "operator of the installation"
		}
		return account.AuditUser(ctx, tx, uuid.Nil, userID, "user.set_operator", detail)
	})
}

// SetDisabled disables a user, or enables one again. The tokens of a disabled user are refused from the next request
// on, in every process, and the sessions end.
func (s *Service) SetDisabled(ctx context.Context, userID uuid.UUID, disabled bool, reason string) error {
	action, since := "user.enable", any(nil)
	if disabled {
		action, since = "user.disable", gorm.Expr("coalesce(disabled_at, now())")
	}
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		_, err := gorm.G[account.User](tx.Gorm(ctx)).Where("id = ?", userID).Update(ctx, "disabled_at", since)
		if err == nil && disabled {
			err = signin.SignOutUser(ctx, tx, userID)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
		return account.AuditUser(ctx, tx, uuid.Nil, userID, action, reason)
	})
}

// DeleteUser deletes a user with the tokens, the sessions, the memberships, the open invitations, the second factor,
// the links, the accounts at the provider and the mails that wait. Runs and audit records keep the id alone. The last
// owner of an organization is refused with last_owner.
func (s *Service) DeleteUser(ctx context.Context, email string) error {
	address := account.NormalizeEmail(email)
	err := db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		lock := clause.Locking{Strength: clause.LockingStrengthUpdate}
		user, err := gorm.G[account.User](tx.Gorm(ctx), lock).Where("email = ?", address).Take(ctx)
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return core.NewError(api.CodeNotFound, fmt.Sprintf("There is no user %q.", email))
		}
		if err != nil {
			return fmt.Errorf("find user %s: %w", email, err)
		}
		if err := account.AuditUser(ctx, tx, uuid.Nil, user.ID, "user.delete", ""); err != nil {
			return err
		}
		if err := mails.DeleteTo(ctx, tx, address); err != nil {
			return err
		}
		if _, err := gorm.G[Invitation](tx.Gorm(ctx)).Where("email = ?", address).Delete(ctx); err != nil {
			return fmt.Errorf("delete the invitations of user %s: %w", email, err)
		}
		if err := tx.Gorm(ctx).Delete(&user).Error; err != nil {
			return fmt.Errorf("delete user %s: %w", email, err)
		}
		return nil
	})
	if db.ViolatedConstraint(err) == "tr_memberships_last_owner" {
		return core.NewError(api.CodeLastOwner,
			email+" is the only owner of an organization. Make another member an owner, or delete the organization.")
	}
	return err
}
