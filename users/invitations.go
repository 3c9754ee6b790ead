package users

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
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// Invitation asks the person with an e-mail address to become a member of an organization.
type Invitation struct {
	ID    uuid.UUID
	Email string
	// Name is what the inviting member calls the person, who chooses a name upon acceptance.
	Name      string
	Role      api.Role
	CreatedAt time.Time
	ExpiresAt time.Time
	// Valid is set while the invitation can be accepted: its week is not over, and its maker may still give the role.
	Valid bool

	OrgID   uuid.UUID
	OrgSlug string
	OrgName string
}

// validInvitation is SQL that holds while an invitation may be accepted. Its maker must still be allowed to give its
// role, or a removed administrator could come back with a link that is left. The zero UUID is the operator, who has
// imported the organization.
const validInvitation = `(i.state = 'open' AND i.expires_at > now()
	AND (i.invited_by = '00000000-0000-0000-0000-000000000000' OR EXISTS (
		SELECT FROM memberships AS m WHERE m.org_id = i.org_id AND m.user_id = i.invited_by
			AND (m.role = 'owner' OR (m.role = 'admin' AND i.role <> 'owner')))))`

// invitationsIn selects invitations, with their organizations.
func invitationsIn(query *gorm.DB) *gorm.DB {
	return query.Table("invitations AS i").Joins("JOIN organizations AS o ON o.id = i.org_id").
		Select(`i.id, i.email, i.name, i.role, i.created_at, i.expires_at, i.org_id, ` + validInvitation + ` AS valid,
			o.slug AS org_slug, o.name AS org_name`)
}

// invitations reads one page of the organization's open invitations, the newest first, and one row more.
func (s *Service) invitations(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Invitation, error) {
	return listInvitations(cursor, s.db.Gorm.WithContext(ctx).Where("i.org_id = ? AND i.state = 'open'", orgID))
}

// invitationsOf lists what the user may accept without a link.
func (s *Service) invitationsOf(ctx context.Context, userID uuid.UUID, cursor core.Cursor) ([]Invitation, error) {
	return listInvitations(cursor, s.db.Gorm.WithContext(ctx).Where(validInvitation).
		Where("i.email = (SELECT email FROM users WHERE id = ? AND address_confirmed)", userID))
}

func listInvitations(cursor core.Cursor, query *gorm.DB) ([]Invitation, error) {
	var found []Invitation
	if err := cursor.Of(invitationsIn(query), "i.id").Find(&found).Error; err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return found, nil
}

// oneInvitation finds the invitation that a query selects.
func oneInvitation(query *gorm.DB) (Invitation, error) {
	var found Invitation
	err := invitationsIn(query).Take(&found).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Invitation{}, core.NewError(api.CodeNotFound,
			"There is no such invitation. It was accepted, declined or revoked, or it has expired: ask for a new one.")
	}
	if err != nil {
		return Invitation{}, fmt.Errorf("look an invitation up: %w", err)
	}
	return found, nil
}

// linkedInvitation finds the valid invitation to which a link leads.
func (s *Service) linkedInvitation(ctx context.Context, secret string) (Invitation, error) {
	return oneInvitation(s.db.Gorm.WithContext(ctx).
		Where("i.digest = ? AND "+validInvitation, account.Digest(secret)))
}

// openInvitation finds an open invitation of the organization.
func openInvitation(query *gorm.DB, orgID, id uuid.UUID) (Invitation, error) {
	return oneInvitation(query.Where("i.org_id = ? AND i.id = ? AND i.state = 'open'", orgID, id))
}

// locked keeps others from changing the invitations that a query finds until the transaction ends.
func locked(ctx context.Context, tx db.GormTx) *gorm.DB {
	return tx.Gorm(ctx).Clauses(clause.Locking{Strength: "NO KEY UPDATE", Table: clause.Table{Name: "i"}})
}

// lockInvitation finds an open invitation that the principal may change: anybody with its link can take its role.
func lockInvitation(
	ctx context.Context, tx db.GormTx, principal core.Principal, id uuid.UUID,
) (Invitation, error) {
	open, err := openInvitation(locked(ctx, tx), principal.OrgID, id)
	if err != nil {
		return Invitation{}, err
	}
	return open, mayManage(principal, open.Role)
}

// changeInvitation changes columns of an invitation that is locked.
func changeInvitation(
	ctx context.Context, tx db.GormTx, orgID, id uuid.UUID, columns map[string]any,
) error {
	err := tx.Gorm(ctx).Table("invitations").Where("org_id = ? AND id = ?", orgID, id).Updates(columns).Error
	if err != nil {
		return fmt.Errorf("change invitation %s: %w", id, err)
	}
	return nil
}

// inviteWithLink invites the person of the draft and makes the link in the same transaction.
func (s *Service) inviteWithLink(
	ctx context.Context, principal core.Principal, draft memberDraft,
) (issuedLink, error) {
	wanted, err := newInvitation(principal, draft)
	if err != nil {
		return issuedLink{}, err
	}
	defer s.Mails.Wake()
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (issuedLink, error) {
		invited, err := invite(ctx, tx, principal, wanted)
		if err != nil {
			return issuedLink{}, err
		}
		return s.makeLink(ctx, tx, principal, invited.ID)
	})
}

// newInvitation is what a draft asks for, if the principal may give the draft's role.
func newInvitation(principal core.Principal, draft memberDraft) (Invitation, error) {
	if err := mayManage(principal, draft.Role); err != nil {
		return Invitation{}, err
	}
	return Invitation{
		ID: core.NewID(), Email: account.NormalizeEmail(draft.Email), Name: draft.Name, Role: draft.Role,
	}, nil
}

// invite adds an invitation. It looks only at the members of the organization, so its answer does not depend on whether
// the address has an account.
func invite(ctx context.Context, tx db.GormTx, principal core.Principal, wanted Invitation) (Invitation, error) {
	var members int64
	err := membersOf(tx.Gorm(ctx), principal.OrgID).Where("u.email = ?", wanted.Email).Count(&members).Error
	if err != nil {
		return Invitation{}, fmt.Errorf("look for a member by the address: %w", err)
	}
	if members > 0 {
		return Invitation{}, addressTaken("The user is a member already.", "belongs to a member of the organization")
	}
	added, err := insertInvitation(ctx, tx, principal, wanted)
	if err != nil {
		return Invitation{}, err
	}
	if !added {
		return Invitation{}, addressTaken(
			"There is an open invitation for the address. Make a new link for it, or revoke it.",
			"has an open invitation")
	}
	detail := wanted.Email + " as " + string(wanted.Role)
	if err := auditInvitation(ctx, tx, principal, "invitation.create", wanted.ID, detail); err != nil {
		return Invitation{}, err
	}
	return openInvitation(tx.Gorm(ctx), principal.OrgID, wanted.ID)
}

// insertInvitation reports whether it has added the invitation: there is one open invitation per address. Invitations
// that cannot be accepted any more make room.
func insertInvitation(ctx context.Context, tx db.GormTx, principal core.Principal, draft Invitation) (bool, error) {
	err := tx.Gorm(ctx).Table("invitations AS i").
		Where("i.org_id = ? AND i.email = ? AND i.state = 'open'", principal.OrgID, draft.Email).
		Where("NOT "+validInvitation).Update("state", "revoked").Error
	if err != nil {
		return false, fmt.Errorf("end an invitation that is void: %w", err)
	}
	added := tx.Gorm(ctx).Table("invitations").Clauses(clause.OnConflict{
		Columns:     []clause.Column{{Name: "org_id"}, {Name: "email"}},
		TargetWhere: clause.Where{Exprs: []clause.Expression{gorm.Expr("state = 'open'")}}, DoNothing: true,
	}).Create(map[string]any{
		"org_id": principal.OrgID, "id": draft.ID, "email": draft.Email, "name": draft.Name, "role": draft.Role,
		"invited_by": principal.UserID,
	})
	if added.Error != nil {
		return false, fmt.Errorf("add an invitation: %w", added.Error)
	}
	return added.RowsAffected > 0, nil
}

func addressTaken(sentence, detail string) error {
	return core.InvalidPayload(sentence, api.FieldError{Pointer: "/email", Code: "taken", Detail: detail})
}

// issuedLink is an invitation with the secret of its new link, which is not stored.
type issuedLink struct {
	Invitation

	secret string
}

// Path is the address of the link on this service.
func (l issuedLink) Path() string { return invitationAddress(l.secret) }

// renewLink makes a new link for an open invitation, which holds for a week. The link before it leads nowhere.
func (s *Service) renewLink(ctx context.Context, principal core.Principal, id uuid.UUID) (issuedLink, error) {
	defer s.Mails.Wake()
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (issuedLink, error) {
		return s.makeLink(ctx, tx, principal, id)
	})
}

// makeLink makes the link and mails it where mail is set up.
func (s *Service) makeLink(
	ctx context.Context, tx db.GormTx, principal core.Principal, id uuid.UUID,
) (issuedLink, error) {
	open, err := lockInvitation(ctx, tx, principal, id)
	if err != nil {
		return issuedLink{}, err
	}
	secret, digest := account.NewSecret()
	err = changeInvitation(ctx, tx, principal.OrgID, id, map[string]any{
		"digest": digest, "invited_by": principal.UserID, "expires_at": gorm.Expr("now() + interval '7 days'"),
	})
	if err != nil {
		return issuedLink{}, err
	}
	if err := auditInvitation(ctx, tx, principal, "invitation.link", id, open.Email); err != nil {
		return issuedLink{}, err
	}
	linked, err := openInvitation(tx.Gorm(ctx), principal.OrgID, id)
	if err != nil {
		return issuedLink{}, err
	}
	issued := issuedLink{Invitation: linked, secret: secret}
	return issued, s.mailInvitationLink(ctx, tx, issued)
}

// revokeInvitation ends an open invitation and its link. Repeating it is not an error.
func (s *Service) revokeInvitation(ctx context.Context, principal core.Principal, id uuid.UUID) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		open, err := lockInvitation(ctx, tx, principal, id)
		if errors.Is(err, api.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		err = changeInvitation(ctx, tx, principal.OrgID, id, map[string]any{"state": "revoked"})
		if err != nil {
			return err
		}
		return auditInvitation(ctx, tx, principal, "invitation.revoke", id, open.Email)
	})
}

// invitationKey is how a person names an invitation: by its id, which requires an account with a confirmed address, or
// by the secret of its link.
type invitationKey struct {
	id     uuid.UUID
	secret string
}

// in selects the invitation of the key, if it is for the user's address.
func (k invitationKey) in(query *gorm.DB, userID uuid.UUID) *gorm.DB {
	if k.secret != "" {
		return query.Where("i.digest = ? AND i.email = (SELECT email FROM users WHERE id = ?)",
			account.Digest(k.secret), userID)
	}
	return query.Where("i.id = ? AND i.email = (SELECT email FROM users WHERE id = ? AND address_confirmed)",
		k.id, userID)
}

// accept makes the user a member by an invitation for the user's address. Repeating it changes nothing.
func (s *Service) accept(ctx context.Context, key invitationKey, userID uuid.UUID) (Invitation, error) {
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (Invitation, error) { return acceptIn(ctx, tx, key, userID) })
}

func acceptIn(ctx context.Context, tx db.GormTx, key invitationKey, userID uuid.UUID) (Invitation, error) {
	accepted, err := oneInvitation(key.in(locked(ctx, tx), userID).Where(validInvitation))
	if errors.Is(err, api.CodeNotFound) {
		return oneInvitation(key.in(tx.Gorm(ctx), userID).Where("i.state = 'accepted' AND i.accepted_by = ?", userID))
	}
	if err != nil {
		return Invitation{}, err
	}
	err = changeInvitation(ctx, tx, accepted.OrgID, accepted.ID,
		map[string]any{"state": "accepted", "accepted_by": userID})
	if err != nil {
		return Invitation{}, err
	}
	// The operator may have added the person meanwhile; then that role counts.
	if _, err := insertMembership(ctx, tx, accepted.OrgID, userID, accepted.Role); err != nil {
		return Invitation{}, err
	}
	detail := accepted.Email + " as " + string(accepted.Role)
	return accepted, auditInvitation(ctx, tx, asMember(accepted, userID), "invitation.accept", accepted.ID, detail)
}

// decline ends an invitation for the user's address.
func (s *Service) decline(ctx context.Context, key invitationKey, userID uuid.UUID) (Invitation, error) {
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (Invitation, error) {
		declined, err := oneInvitation(key.in(locked(ctx, tx), userID).Where("i.state = 'open'"))
		if err != nil {
			return Invitation{}, err
		}
		err = changeInvitation(ctx, tx, declined.OrgID, declined.ID, map[string]any{"state": "declined"})
		if err != nil {
			return Invitation{}, err
		}
		return declined, auditInvitation(ctx, tx, asMember(declined, userID), "invitation.decline", declined.ID,
			declined.Email)
	})
}

// join makes an account for the address of a link's invitation, and accepts the invitation with it. The account is
// made together with the membership, or neither. It returns the new user and the invitation.
func (s *Service) join(ctx context.Context, secret string, form joinForm) (account.User, Invitation, error) {
	linked, err := s.linkedInvitation(ctx, secret)
	if err != nil {
		return account.User{}, Invitation{}, err
	}
	user, err := s.Accounts.NewUser(ctx, linked.Email, form.Name, form.New)
	if err != nil {
		return account.User{}, Invitation{}, err
	}
	// Whoever has the link need not own the address.
	user.AddressConfirmed = false
	accepted, err := db.InGormTx(ctx, s.db, func(tx db.GormTx) (Invitation, error) {
		err := account.InsertUser(ctx, tx, user)
		if errors.Is(err, account.ErrTaken) {
			return Invitation{}, core.InvalidPayload(
				"An account could not be made. If you have one, sign in to accept.")
		}
		if err != nil {
			return Invitation{}, err
		}
		return acceptIn(ctx, tx, invitationKey{secret: secret}, user.ID)
	})
	return user, accepted, err
}

// asMember is the principal of an action on an invitation, for the audit records of the organization.
func asMember(i Invitation, userID uuid.UUID) core.Principal {
	return core.Principal{OrgID: i.OrgID, UserID: userID}
}

func auditInvitation(
	ctx context.Context, tx db.GormTx, principal core.Principal, action string, id uuid.UUID, detail string,
) error {
	return core.AuditBy(ctx, tx.Tx, principal, core.AuditRecord{
		Action: action, TargetType: "invitation", TargetID: id.String(), Detail: detail,
	})
}

// mailInvitationLink sends the link of an invitation to the invited person.
func (s *Service) mailInvitationLink(ctx context.Context, tx db.GormTx, issued issuedLink) error {
	name := mails.Quoted(issued.OrgName)
	return s.Mails.Stage(ctx, tx, mails.KindInvitation, issued.Email, &mails.Letter{
		Subject: "Invitation to " + name,
		Text: fmt.Sprintf(`You are invited to %s as %s. Open this link to accept or to decline:

%s

It works until %s, for %s alone. If you do not know what this is about, do nothing.
`, name, issued.Role, s.cfg.Address+issued.Path(),
			issued.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC"), issued.Email),
	})
}

// PurgeInvitations deletes invitations whose week has been over for a month, however they ended.
func (s *Service) PurgeInvitations(ctx context.Context) (int64, error) {
	deleted, err := gorm.G[Invitation](s.db.Gorm).Where("expires_at < now() - interval '30 days'").Delete(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete old invitations: %w", err)
	}
	return int64(deleted), nil
}
