package users

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
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
	Role      core.Role
	CreatedAt time.Time
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
	Email string    `json:"email" form:"email" validate:"required,email,max=254"`
	Name  string    `json:"name"  form:"name"  validate:"max=200,excludesrune=\x00"`
	Role  core.Role `json:"role"  form:"role"  validate:"oneof=owner admin author executor viewer"`
}

// memberChange is what of a member may change.
type memberChange struct {
	Role core.Role `json:"role" form:"role" validate:"oneof=owner admin author executor viewer"`
}

type memberBody struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Role      core.Role `json:"role"`
	CreatedAt string    `json:"created_at"`
}

func renderMember(m Member) memberBody {
	return memberBody{ID: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, CreatedAt: core.FormatTime(m.CreatedAt)}
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
func (a *App) readMembers(c echo.Context, principal core.Principal) (core.Page[Member], error) {
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
	if err := a.mayMail(principal); err != nil {
		return err
	}
	invite, err := a.service.inviteOnce(principal, draft)
	if err != nil {
		return err
	}
	return a.guard.Once(c, idempotency.Operation{Endpoint: endpointMember, Content: content}, invite)
}

// changeMember is PATCH /api/members/{id}/. Repeating it changes nothing.
func (a *App) changeMember(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "member")
	if err != nil {
		return err
	}
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
func (a *App) removeMember(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "member")
	if err != nil {
		return err
	}
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

// setRole changes a member's role. Members can neither change a member above their own role nor raise a role above it.
func (s *Service) setRole(
	ctx context.Context, principal core.Principal, userID uuid.UUID, role core.Role,
) (Member, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (Member, error) {
		member, err := lockMember(ctx, tx, principal.OrgID, userID)
		if err != nil {
			return Member{}, err
		}
		if err := mayManage(principal, member.Role); err != nil {
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
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		member, err := lockMember(ctx, tx, principal.OrgID, userID)
		if core.HasCode(err, core.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := mayManage(principal, member.Role); err != nil {
			return err
		}
		if err := deleteMembership(ctx, tx, principal.OrgID, userID); err != nil {
			return err
		}
		return auditMember(ctx, tx, principal, "member.remove", userID, member.Email)
	})
}

// leave ends the principal's own membership. It takes a token with the whole role of its user: a token that may do less
// does not take the rest away.
func (s *Service) leave(ctx context.Context, principal core.Principal) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		member, err := lockMember(ctx, tx, principal.OrgID, principal.UserID)
		if err != nil {
			return err
		}
		if err := principal.Require(member.Role, "end the membership of its user"); err != nil {
			return err
		}
		if err := deleteMembership(ctx, tx, principal.OrgID, principal.UserID); err != nil {
			return err
		}
		return auditMember(ctx, tx, principal, "member.leave", principal.UserID, member.Email)
	})
}

// mayManage answers permission_denied unless the principal may give and take away the role.
func mayManage(principal core.Principal, role core.Role) error {
	return principal.Require(role, "manage members who are "+string(role))
}

// membershipError translates the database's refusal to change a membership.
func membershipError(err error) error {
	if err == nil {
		return nil
	}
	if db.ViolatedConstraint(err) == "tr_memberships_last_owner" {
		return core.NewError(core.CodeLastOwner,
			"This is the only owner of the organization. Make another member an owner first.").Because(err)
	}
	return fmt.Errorf("change a membership: %w", err)
}

func auditMember(
	ctx context.Context, tx db.Tx, principal core.Principal, action string, userID uuid.UUID, detail string,
) error {
	return account.Audit(ctx, tx, principal, core.AuditRecord{
		Action: action, TargetType: "user", TargetID: userID.String(), Detail: detail,
	})
}

// removeMembersFactor removes the second factor of a member who has lost it. Together with a link for a new password it
// gives full access to the account, so it requires the same right.
func (s *Service) removeMembersFactor(ctx context.Context, principal core.Principal, userID uuid.UUID) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		member, err := lockMember(ctx, tx, principal.OrgID, userID)
		if err != nil {
			return err
		}
		if err := mayManage(principal, member.Role); err != nil {
			return err
		}
		if err := mustAdminister(ctx, tx, principal.UserID, member); err != nil {
			return err
		}
		return signin.RemoveFactor(ctx, tx, principal.UserID, userID, "by an administrator")
	})
}

// linkPassword makes a link for a member, which replaces the previous one. Anybody with the link can act as the user in
// all of the user's organizations, so the principal has to administer each of them.
func (s *Service) linkPassword(
	ctx context.Context, principal core.Principal, userID uuid.UUID, life time.Duration,
) (signin.PasswordLink, error) {
	defer s.Mails.Wake()
	return db.InTx(ctx, s.db, func(tx db.Tx) (signin.PasswordLink, error) {
		member, err := lockMember(ctx, tx, principal.OrgID, userID)
		if err != nil {
			return signin.PasswordLink{}, err
		}
		if err := mayManage(principal, member.Role); err != nil {
			return signin.PasswordLink{}, err
		}
		if err := mustAdminister(ctx, tx, principal.UserID, member); err != nil {
			return signin.PasswordLink{}, err
		}
		return s.SignIn.MakePasswordLink(ctx, tx, principal.UserID, userID, life)
	})
}

// mustAdminister refuses what would give an administrator the account of a member who belongs to others as well.
func mustAdminister(ctx context.Context, tx db.Tx, adminID uuid.UUID, member Member) error {
	administers, err := signin.AdministersAll(ctx, tx, adminID, member.ID)
	if err != nil || administers {
		return err
	}
	return core.NewError(core.CodePermissionDenied, member.Email+" belongs to an organization in which you do not "+
		"manage this person, or operates the service. Ask the operator of the service.")
}
