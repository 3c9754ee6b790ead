package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const memberColumns = `SELECT u.id, u.email, u.name, m.role, m.created_at
	FROM memberships AS m JOIN users AS u ON u.id = m.user_id WHERE m.org_id = $1 `

// members reads one page of the organization's members, the newest users first, and one row more.
func (s *Service) members(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Member, error) {
	comparison, order, from := cursor.Window()
	rows, err := s.db.Pool.Query(ctx, memberColumns+`AND m.user_id `+comparison+` $2 ORDER BY m.user_id `+order+
		` LIMIT $3`, orgID, from, cursor.Size+1)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Member])
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return found, nil
}

// addMember makes the user of the draft a member on behalf of an administrator, and the user where there is none.
func (s *Service) addMember(ctx context.Context, principal core.Principal, draft memberDraft) (Member, error) {
	user, err := s.draftMember(principal, draft)
	if err != nil {
		return Member{}, err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (Member, error) {
		return insertMember(ctx, tx, principal, user, draft.Role)
	})
}

// draftMember returns the user that a draft asks for, if the principal may add such a member.
func (s *Service) draftMember(principal core.Principal, draft memberDraft) (User, error) {
	if err := principal.Require(core.RoleAdmin, "add members"); err != nil {
		return User{}, err
	}
	if err := mayManage(principal, draft.Role); err != nil {
		return User{}, err
	}
	return s.newUser(draft.Email, draft.Name, "")
}

// insertMember makes the user with the e-mail address a member, and the user where there is none.
func insertMember(
	ctx context.Context, tx db.Tx, principal core.Principal, user User, role core.Role,
) (Member, error) {
	// An update that changes nothing returns the row, whoever wrote it.
	err := tx.QueryRow(ctx, `
		INSERT INTO users (id, email, name) VALUES ($1, $2, $3)
		ON CONFLICT ON CONSTRAINT uq_users_email DO UPDATE SET email = excluded.email RETURNING id`,
		user.ID, user.Email, user.Name).Scan(&user.ID)
	if err != nil {
		return Member{}, fmt.Errorf("find or create user %q: %w", user.Email, err)
	}
	added, err := tx.Exec(ctx, `
		INSERT INTO memberships (org_id, user_id, role) VALUES ($1, $2, $3)
		ON CONFLICT ON CONSTRAINT memberships_pkey DO NOTHING`, principal.OrgID, user.ID, role)
	if err != nil {
		return Member{}, fmt.Errorf("add member %s: %w", user.ID, err)
	}
	if added.RowsAffected() == 0 {
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
		_, err = tx.Exec(ctx, `UPDATE memberships SET role = $3 WHERE org_id = $1 AND user_id = $2`,
			principal.OrgID, userID, role)
		if err != nil {
			return Member{}, membershipError(err)
		}
		detail := fmt.Sprintf("%s from %s to %s", member.Email, member.Role, role)
		member.Role = role
		return member, auditMember(ctx, tx, principal, "member.set_role", userID, detail)
	})
}

// removeMember ends a membership. Where there is none, nothing has to be done.
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
		_, err = tx.Exec(ctx, `DELETE FROM memberships WHERE org_id = $1 AND user_id = $2`, principal.OrgID, userID)
		if err != nil {
			return struct{}{}, membershipError(err)
		}
		return struct{}{}, auditMember(ctx, tx, principal, "member.remove", userID, member.Email)
	})
	return err
}

// mayManage answers permission_denied unless the principal may give and take away the role.
func mayManage(principal core.Principal, role core.Role) error {
	return principal.Require(role, "manage members who are "+string(role))
}

func lockMember(ctx context.Context, tx db.Tx, orgID, userID uuid.UUID) (Member, error) {
	rows, err := tx.Query(ctx, memberColumns+`AND m.user_id = $2 FOR UPDATE OF m`, orgID, userID)
	if err != nil {
		return Member{}, fmt.Errorf("read member %s: %w", userID, err)
	}
	member, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Member])
	if errors.Is(err, pgx.ErrNoRows) {
		return Member{}, core.NotFound("member")
	}
	if err != nil {
		return Member{}, fmt.Errorf("read member %s: %w", userID, err)
	}
	return member, nil
}

// membershipError says what the refusal of the database to change a membership means.
func membershipError(err error) error {
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
