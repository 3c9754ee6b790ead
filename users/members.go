package users

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

// Member is a user as a member of an organization.
type Member struct {
	ID        uuid.UUID
	Email     string
	Name      string
	Role      api.Role
	CreatedAt time.Time
	// HasFactor says that the member has set up a second factor.
	HasFactor bool
}

// membership is what makes a user a member.
type membership struct {
	OrgID  uuid.UUID `gorm:"primaryKey"`
	UserID uuid.UUID `gorm:"primaryKey"`
	Role   api.Role
}

// endpointMember names the endpoint in idempotency keys.
const endpointMember idempotency.Endpoint = "member_add"

// Operations are the names of what the app does once for each key.
func Operations() idempotency.Operations {
	return idempotency.Operations{endpointMember: {Title: "Invite a member"}}
}

// maxAccountBytes bounds the bodies of this app.
const maxAccountBytes = 16 << 10

// maxMemberDepth is far more than the body of a member nests.
const maxMemberDepth = 10

// memberDraft is the body of an invitation.
type memberDraft struct {
	Email string   `json:"email" form:"email" validate:"required,email,max=254"`
	Name  string   `json:"name"  form:"name"  validate:"max=200,excludesrune=\x00"`
	Role  api.Role `json:"role"  form:"role"  validate:"oneof=owner admin author executor viewer"`
}

// memberChange is what of a member may change.
type memberChange struct {
	Role api.Role `json:"role" form:"role" validate:"oneof=owner admin author executor viewer"`
}

func renderMember(m Member) api.Member {
	return api.Member{
		ID: m.ID.String(), Email: m.Email, Name: m.Name, Role: m.Role, CreatedAt: api.At(m.CreatedAt),
	}
}

// listMembers is GET /api/members/.
func (a *App) listMembers(c echo.Context, principal core.Principal) error {
	page, err := a.readMembers(c, principal)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, renderMember))
}

// readMembers reads a page of the organization's members, for the API and for the dashboard.
func (a *App) readMembers(c echo.Context, principal core.Principal) (api.Page[Member], error) {
	return core.ReadPage(c, a.check, &core.PageQuery{}, func(m Member) uuid.UUID { return m.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Member, error) {
			return a.service.members(ctx, principal.OrgID, cursor)
		})
}

// inviteMember is POST /api/members/.
func (a *App) inviteMember(c echo.Context, principal core.Principal) error {
	var draft memberDraft
	body, err := core.ReadJSON(c, a.check, maxAccountBytes, &draft)
	if err != nil {
		return err
	}
	content, err := idempotency.DigestJSON(body, maxMemberDepth)
	if err != nil {
		return err
	}
	if err := a.mayMail(c, principal); err != nil {
		return err
	}
	invite, err := a.service.inviteOnce(principal, draft)
	if err != nil {
		return err
	}
	return a.guard.Once(c, idempotency.Operation{Endpoint: endpointMember, Content: content}, invite)
}

// changeMember is PATCH /api/members/{id}/. Repeating it changes nothing.
func (a *App) changeMember(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var wanted memberChange
	if _, err := core.ReadJSON(c, a.check, maxAccountBytes, &wanted); err != nil {
		return err
	}
	member, err := a.service.setRole(c.Request().Context(), principal, id, wanted.Role)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderMember(member))
}

// removeMember is DELETE /api/members/{id}/. Repeating it is not an error.
func (a *App) removeMember(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.removeMember(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// leave is DELETE /api/members/me/.
func (a *App) leave(c echo.Context, principal core.Principal) error {
	if err := a.service.leave(c.Request().Context(), principal); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// membersOf selects the members of an organization.
func membersOf(query *gorm.DB, orgID uuid.UUID) *gorm.DB {
	return query.Table("memberships AS m").Joins("JOIN users AS u ON u.id = m.user_id").Where("m.org_id = ?", orgID).
		Select(`u.id, u.email, u.name, m.role, m.created_at, EXISTS (
			SELECT FROM second_factors AS f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL) AS has_factor`)
}

// members reads one page of the organization's members, the newest users first, and one row more.
func (s *Service) members(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Member, error) {
	var found []Member
	if err := cursor.Of(membersOf(s.db.Gorm.WithContext(ctx), orgID), "m.user_id").Find(&found).Error; err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return found, nil
}

// lockMember reads a member and keeps others from changing the membership until the transaction ends.
func lockMember(ctx context.Context, tx db.GormTx, orgID, userID uuid.UUID) (Member, error) {
	lock := clause.Locking{Strength: clause.LockingStrengthUpdate, Table: clause.Table{Name: "m"}}
	var member Member
	err := membersOf(tx.Gorm(ctx).Clauses(lock), orgID).Where("m.user_id = ?", userID).Take(&member).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Member{}, core.NotFound("member")
	}
	if err != nil {
		return Member{}, fmt.Errorf("read member %s: %w", userID, err)
	}
	return member, nil
}

// lockManaged is lockMember for a principal who may give and take away the member's role.
func lockManaged(ctx context.Context, tx db.GormTx, principal core.Principal, userID uuid.UUID) (Member, error) {
	member, err := lockMember(ctx, tx, principal.OrgID, userID)
	if err != nil {
		return Member{}, err
	}
	return member, mayManage(principal, member.Role)
}

// insertMembership reports whether the user was no member before.
func insertMembership(ctx context.Context, tx db.GormTx, orgID, userID uuid.UUID, role api.Role) (bool, error) {
	added := tx.Gorm(ctx).Clauses(clause.OnConflict{OnConstraint: "memberships_pkey", DoNothing: true}).
		Create(&membership{OrgID: orgID, UserID: userID, Role: role})
	if added.Error != nil {
		return false, fmt.Errorf("add member %s: %w", userID, added.Error)
	}
	return added.RowsAffected > 0, nil
}

func updateMembership(ctx context.Context, tx db.GormTx, orgID, userID uuid.UUID, role api.Role) error {
	changed := membership{OrgID: orgID, UserID: userID}
	return membershipError(tx.Gorm(ctx).Model(&changed).Update("role", role).Error)
}

func deleteMembership(ctx context.Context, tx db.GormTx, orgID, userID uuid.UUID) error {
	return membershipError(tx.Gorm(ctx).Delete(&membership{OrgID: orgID, UserID: userID}).Error)
}

// setRole changes a member's role. Members can neither change a member above their own role nor raise a role above it.
func (s *Service) setRole(
	ctx context.Context, principal core.Principal, userID uuid.UUID, role api.Role,
) (Member, error) {
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (Member, error) {
		member, err := lockManaged(ctx, tx, principal, userID)
		if err != nil {
			return Member{}, err
		}
		if member.Role == role {
			return member, nil
		}
		if err := mayManage(principal, role); err != nil {
			return Member{}, err
		}
		if err := updateMembership(ctx, tx, principal.OrgID, userID, role); err != nil {
			return Member{}, err
		}
		detail := fmt.Sprintf("%s from %s to %s", member.Email, member.Role, role)
		member.Role = role
		return member, auditMember(ctx, tx, principal, "member.set_role", userID, detail)
	})
}

// removeMember ends a membership. It is not an error if there is none.
func (s *Service) removeMember(ctx context.Context, principal core.Principal, userID uuid.UUID) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		member, err := lockManaged(ctx, tx, principal, userID)
		if errors.Is(err, api.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := deleteMembership(ctx, tx, principal.OrgID, userID); err != nil {
			return err
		}
		return auditMember(ctx, tx, principal, "member.remove", userID, member.Email)
	})
}

// leave ends the principal's own membership.
func (s *Service) leave(ctx context.Context, principal core.Principal) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		member, err := lockMember(ctx, tx, principal.OrgID, principal.UserID)
		if err != nil {
			return err
		}
		if err := deleteMembership(ctx, tx, principal.OrgID, principal.UserID); err != nil {
			return err
		}
		return auditMember(ctx, tx, principal, "member.leave", principal.UserID, member.Email)
	})
}

// mayManage answers permission_denied unless the principal may give and take away the role.
func mayManage(principal core.Principal, role api.Role) error {
	return principal.Require(role, "manage members who are "+string(role))
}

// membershipError translates the database's refusal to change a membership.
func membershipError(err error) error {
	if err == nil {
		return nil
	}
	if db.ViolatedConstraint(err) == "tr_memberships_last_owner" {
		return core.NewError(api.CodeLastOwner,
			"This is the only owner of the organization. Make another member an owner first.").Because(err)
	}
	return fmt.Errorf("change a membership: %w", err)
}

func auditMember(
	ctx context.Context, tx db.GormTx, principal core.Principal, action string, userID uuid.UUID, detail string,
) error {
	return core.AuditBy(ctx, tx.Tx, principal, core.AuditRecord{
		Action: action, TargetType: "user", TargetID: userID.String(), Detail: detail,
	})
}

// removeMembersFactor removes the second factor of a member who has lost it. Together with a link for a new password it
// gives full access to the account, so it requires the same right.
func (s *Service) removeMembersFactor(ctx context.Context, principal core.Principal, userID uuid.UUID) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		if _, err := lockAdministered(ctx, tx, principal, userID); err != nil {
			return err
		}
		return s.Factors.Remove(ctx, tx, principal.UserID, userID, "by an administrator")
	})
}

// linkPassword makes a link for a member, which replaces the previous one. Anybody with the link can act as the user in
// all of the user's organizations, so the principal has to administer each of them.
func (s *Service) linkPassword(
	ctx context.Context, principal core.Principal, userID uuid.UUID, life time.Duration,
) (signin.PasswordLink, error) {
	defer s.Mails.Wake()
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (signin.PasswordLink, error) {
		member, err := lockAdministered(ctx, tx, principal, userID)
		if err != nil {
			return signin.PasswordLink{}, err
		}
		return s.SignIn.MakePasswordLink(ctx, tx, signin.PasswordLink{
			UserID: userID, Email: member.Email, MadeBy: principal.UserID,
		}, life)
	})
}

// lockAdministered is lockManaged for what would give an administrator the account of the member, who must not belong
// to others as well.
func lockAdministered(
	ctx context.Context, tx db.GormTx, principal core.Principal, userID uuid.UUID,
) (Member, error) {
	member, err := lockManaged(ctx, tx, principal, userID)
	if err != nil {
		return Member{}, err
	}
	administers, err := account.AdministersAll(ctx, tx, principal.UserID, userID)
	if err != nil || administers {
		return member, err
	}
	return Member{}, core.PermissionDenied(member.Email + " belongs to an organization in which you " +
		"do not manage this person, or operates the service. Ask the operator of the service.")
}
