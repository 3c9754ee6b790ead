package users

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// Invitation asks the person with an e-mail address to become a member of an organization.
type Invitation struct {
	ID    uuid.UUID
	Email string
	// Name is what the inviting member calls the person, who chooses a name upon acceptance.
	Name      string
	Role      core.Role
	CreatedAt time.Time
	ExpiresAt time.Time
	// Valid is set while the invitation can be accepted: its week is not over, and its maker may still give the role.
	Valid bool

	OrgID   uuid.UUID
	OrgSlug string
	OrgName string
}

// inviteOnce invites the person of the draft as the work of a keyed request, whose answer is stored in the same
// transaction. The answer has no link, because a link is a secret.
func (s *Service) inviteOnce(principal core.Principal, draft memberDraft) (idempotency.Work, error) {
	wanted, err := newInvitation(principal, draft)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		invited, err := invite(ctx, tx, principal, wanted)
		if err != nil {
			return idempotency.Response{}, err
		}
		if s.Mails.AreSent() {
			if _, err := s.makeLink(ctx, tx, principal, invited.ID); err != nil {
				return idempotency.Response{}, err
			}
		}
		body, err := json.Marshal(renderInvitation(invited))
		if err != nil {
			return idempotency.Response{}, fmt.Errorf("render an invitation: %w", err)
		}
		return idempotency.Response{
			Status: http.StatusCreated, Body: body,
			Headers: idempotency.ResponseHeaders{ContentType: "application/json"},
		}, nil
	}, nil
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
	return db.InTx(ctx, s.db, func(tx db.Tx) (issuedLink, error) {
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
	id, err := core.NewID()
	return Invitation{ID: id, Email: account.NormalizeEmail(draft.Email), Name: draft.Name, Role: draft.Role}, err
}

// invite adds an invitation. It looks only at the members of the organization, so its answer does not depend on whether
// the address has an account.
func invite(ctx context.Context, tx db.Tx, principal core.Principal, wanted Invitation) (Invitation, error) {
	member, err := isMemberByEmail(ctx, tx, principal.OrgID, wanted.Email)
	if err != nil {
		return Invitation{}, err
	}
	if member {
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
	return lockInvitation(ctx, tx, principal.OrgID, wanted.ID)
}

func addressTaken(sentence, detail string) error {
	return core.InvalidPayload(sentence, core.FieldError{Pointer: "/email", Code: "taken", Detail: detail})
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
	return db.InTx(ctx, s.db, func(tx db.Tx) (issuedLink, error) {
		return s.makeLink(ctx, tx, principal, id)
	})
}

// makeLink makes the link and mails it where mail is set up.
func (s *Service) makeLink(
	ctx context.Context, tx db.Tx, principal core.Principal, id uuid.UUID,
) (issuedLink, error) {
	open, err := lockInvitation(ctx, tx, principal.OrgID, id)
	if err != nil {
		return issuedLink{}, err
	}
	// Anybody with the link can take the role.
	if err := mayManage(principal, open.Role); err != nil {
		return issuedLink{}, err
	}
	secret, digest, _ := account.NewSecret()
	if err := updateLink(ctx, tx, principal, id, digest); err != nil {
		return issuedLink{}, err
	}
	if err := auditInvitation(ctx, tx, principal, "invitation.link", id, open.Email); err != nil {
		return issuedLink{}, err
	}
	linked, err := lockInvitation(ctx, tx, principal.OrgID, id)
	if err != nil {
		return issuedLink{}, err
	}
	issued := issuedLink{Invitation: linked, secret: secret}
	return issued, s.mailInvitationLink(ctx, tx, issued)
}

// revokeInvitation ends an open invitation and its link. Repeating it is not an error.
func (s *Service) revokeInvitation(ctx context.Context, principal core.Principal, id uuid.UUID) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		open, err := lockInvitation(ctx, tx, principal.OrgID, id)
		if core.HasCode(err, core.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := mayManage(principal, open.Role); err != nil {
			return err
		}
		if err := updateInvitationRevoked(ctx, tx, principal.OrgID, id); err != nil {
			return err
		}
		return auditInvitation(ctx, tx, principal, "invitation.revoke", id, open.Email)
	})
}

// accept makes the user a member by an invitation for the user's address. Repeating it changes nothing.
func (s *Service) accept(ctx context.Context, key invitationKey, userID uuid.UUID) (Invitation, error) {
	return db.InTx(ctx, s.db, func(tx db.Tx) (Invitation, error) { return acceptIn(ctx, tx, key, userID) })
}

func acceptIn(ctx context.Context, tx db.Tx, key invitationKey, userID uuid.UUID) (Invitation, error) {
	accepted, first, err := updateAccepted(ctx, tx, key, userID)
	if err != nil || !first {
		return accepted, err
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
	return db.InTx(ctx, s.db, func(tx db.Tx) (Invitation, error) {
		declined, err := updateDeclined(ctx, tx, key, userID)
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
	accepted, err := db.InTx(ctx, s.db, func(tx db.Tx) (Invitation, error) {
		added, err := insertJoiningUser(ctx, tx, user)
		if err != nil {
			return Invitation{}, err
		}
		if !added {
			return Invitation{}, core.InvalidPayload(
				"An account could not be made. If you have one, sign in to accept.")
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
	ctx context.Context, tx db.Tx, principal core.Principal, action string, id uuid.UUID, detail string,
) error {
	return account.Audit(ctx, tx, principal, core.AuditRecord{
		Action: action, TargetType: "invitation", TargetID: id.String(), Detail: detail,
	})
}

// mailInvitationLink sends the link of an invitation to the invited person.
func (s *Service) mailInvitationLink(ctx context.Context, tx db.Tx, issued issuedLink) error {
	// The name is chosen by whoever owns the organization, and must not add paragraphs of its own to our letter.
	name := strings.Join(strings.Fields(issued.OrgName), " ")
	return s.Mails.Stage(ctx, tx, mails.KindInvitation, issued.Email, &mails.Letter{
		Subject: "Invitation to " + name,
		Text: fmt.Sprintf(`You are invited to %s as %s. Open this link to accept or to decline:

%s

It works until %s, for %s alone. If you do not know what this is about, do nothing.
`, name, issued.Role, s.cfg.Address+issued.Path(),
			issued.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC"), issued.Email),
	})
}
