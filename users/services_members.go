package users

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// addMember makes the user of the draft a member, and adds the user where there is none.
func (s *Service) addMember(ctx context.Context, principal core.Principal, draft memberDraft) (Member, error) {
	user, err := s.draftMember(principal, draft)
	if err != nil {
		return Member{}, err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (Member, error) {
		return insertMember(ctx, tx, principal, user, draft.Role)
	})
}

// addMemberOnce is addMember as the work of a keyed request, whose answer is stored in the same transaction.
func (s *Service) addMemberOnce(principal core.Principal, draft memberDraft) (idempotency.Work, error) {
	user, err := s.draftMember(principal, draft)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		member, err := insertMember(ctx, tx, principal, user, draft.Role)
		if err != nil {
			return idempotency.Response{}, err
		}
		body, err := json.Marshal(renderMember(member))
		if err != nil {
			return idempotency.Response{}, fmt.Errorf("render a member: %w", err)
		}
		return idempotency.Response{
			Status: http.StatusCreated, Body: body,
			Headers: idempotency.ResponseHeaders{ContentType: "application/json"},
		}, nil
	}, nil
}

// draftMember returns the user that a draft asks for, if the principal may give the draft's role.
func (s *Service) draftMember(principal core.Principal, draft memberDraft) (User, error) {
	if err := mayManage(principal, draft.Role); err != nil {
		return User{}, err
	}
	return s.newUser(draft.Email, draft.Name, "")
}

// insertMember makes the user with the e-mail address a member, and the user where there is none.
func insertMember(
	ctx context.Context, tx db.Tx, principal core.Principal, user User, role core.Role,
) (Member, error) {
	var err error
	if user.ID, err = findOrInsertUser(ctx, tx, user); err != nil {
		return Member{}, err
	}
	added, err := insertMembership(ctx, tx, principal.OrgID, user.ID, role)
	if err != nil {
		return Member{}, err
	}
	if !added {
		return Member{}, core.InvalidPayload("The user is a member already.", core.FieldError{
			Pointer: "/email", Code: "taken", Detail: "belongs to a member of the organization",
		})
	}
	if err := auditMember(ctx, tx, principal, "member.add", user.ID, user.Email+" as "+string(role)); err != nil {
		return Member{}, err
	}
	return lockMember(ctx, tx, principal.OrgID, user.ID)
}

// setRole changes a member's role. Nobody changes who is above them, or raises anybody above them.
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

// removeMember ends a membership. It is no error that there is none.
func (s *Service) removeMember(ctx context.Context, principal core.Principal, userID uuid.UUID) error {
	_, err := db.InTx(ctx, s.db, func(tx db.Tx) (struct{}, error) {
		member, err := lockMember(ctx, tx, principal.OrgID, userID)
		if core.HasCode(err, core.CodeNotFound) {
			return struct{}{}, nil
		}
		if err != nil {
			return struct{}{}, err
		}
		if err := mayManage(principal, member.Role); err != nil {
			return struct{}{}, err
		}
		if err := deleteMembership(ctx, tx, principal.OrgID, userID); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, auditMember(ctx, tx, principal, "member.remove", userID, member.Email)
	})
	return err
}

// mayManage answers permission_denied unless the principal may give and take away the role.
func mayManage(principal core.Principal, role core.Role) error {
	return principal.Require(role, "manage members who are "+string(role))
}

// membershipError says what the refusal of the database to change a membership means.
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
	return audit(ctx, tx, principal, core.AuditRecord{
		Action: action, TargetType: "user", TargetID: userID.String(), Detail: detail,
	})
}
