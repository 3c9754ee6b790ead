package users

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

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
