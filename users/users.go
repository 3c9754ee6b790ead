package users

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// MemberRequest asks for a new user who is a member of an organization.
type MemberRequest struct {
	OrgID uuid.UUID
	Role  core.Role
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
		if err := account.InsertUser(ctx, tx.Gorm(ctx), user); err != nil {
			return account.User{}, err
		}
		return user, setMembership(ctx, tx.Tx, request.OrgID, user.ID, request.Role)
	})
}

// SetMembership makes the user a member with the role, or changes the member's role, on the operator's behalf.
func (s *Service) SetMembership(ctx context.Context, orgID, userID uuid.UUID, role core.Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		return setMembership(ctx, tx, orgID, userID, role)
	})
}

func setMembership(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID, role core.Role) error {
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

func checkRole(role core.Role) error {
	if !role.Allows(core.RoleViewer) {
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
		return account.AuditUser(ctx, tx.Tx, uuid.Nil, userID, "user.set_operator", detail)
	})
}
