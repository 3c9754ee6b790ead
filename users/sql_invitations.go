package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

const (
	// validInvitation holds while an invitation may be accepted. Its maker must still be allowed to give its role, or a
	// removed administrator could come back with a link that is left.
	validInvitation = `(i.state = 'open' AND i.expires_at > now() AND EXISTS (
		SELECT FROM memberships AS m WHERE m.org_id = i.org_id AND m.user_id = i.invited_by
			AND (m.role = 'owner' OR (m.role = 'admin' AND i.role <> 'owner'))))`
	invitationColumns = ` i.id, i.email, i.name, i.role, i.created_at, i.expires_at, ` + validInvitation + `,
		o.id, o.slug, o.name `
	fromInvitations = ` FROM invitations AS i JOIN organizations AS o ON o.id = i.org_id `
)

// invitations reads one page of the organization's open invitations, the newest first, and one row more.
func (s *Service) invitations(ctx context.Context, orgID uuid.UUID, cursor core.Cursor) ([]Invitation, error) {
	comparison, order, from := cursor.Window()
	return s.queryInvitations(ctx, `SELECT`+invitationColumns+fromInvitations+`
		WHERE i.org_id = $1 AND i.state = 'open' AND i.id `+comparison+` $2 ORDER BY i.id `+order+` LIMIT $3`,
		orgID, from, cursor.Size+1)
}

// invitationsOf lists what the user may accept without a link.
func (s *Service) invitationsOf(ctx context.Context, userID uuid.UUID, cursor core.Cursor) ([]Invitation, error) {
	comparison, order, from := cursor.Window()
	return s.queryInvitations(ctx, `SELECT`+invitationColumns+fromInvitations+`
		WHERE i.email = (SELECT email FROM users WHERE id = $1 AND address_confirmed) AND `+validInvitation+`
		AND i.id `+comparison+` $2 ORDER BY i.id `+order+` LIMIT $3`, userID, from, cursor.Size+1)
}

func (s *Service) queryInvitations(ctx context.Context, query string, args ...any) ([]Invitation, error) {
	rows, err := s.db.Pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanInvitation)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return found, nil
}

// linkedInvitation finds the valid invitation to which a link leads.
func (s *Service) linkedInvitation(ctx context.Context, secret string) (Invitation, error) {
	return oneInvitation(s.db.Pool.Query(ctx, `SELECT`+invitationColumns+fromInvitations+`
		WHERE i.digest = $1 AND `+validInvitation, account.Digest(secret)))
}

// openInvitation finds an open invitation of the organization.
func (s *Service) openInvitation(ctx context.Context, orgID, id uuid.UUID) (Invitation, error) {
	return oneInvitation(s.db.Pool.Query(ctx, `SELECT`+invitationColumns+fromInvitations+`
		WHERE i.org_id = $1 AND i.id = $2 AND i.state = 'open'`, orgID, id))
}

// insertInvitation reports whether it has added the invitation: there is one open invitation per address. Invitations
// that cannot be accepted any more make room.
func insertInvitation(ctx context.Context, tx db.Tx, principal core.Principal, draft Invitation) (bool, error) {
	_, err := tx.Exec(ctx, `UPDATE invitations AS i SET state = 'revoked'
		WHERE i.org_id = $1 AND i.email = $2 AND i.state = 'open' AND NOT `+validInvitation,
		principal.OrgID, draft.Email)
	if err != nil {
		return false, fmt.Errorf("end an invitation that is void: %w", err)
	}
	added, err := tx.Exec(ctx, `INSERT INTO invitations (org_id, id, email, name, role, invited_by)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (org_id, email) WHERE state = 'open' DO NOTHING`,
		principal.OrgID, draft.ID, draft.Email, draft.Name, draft.Role, principal.UserID)
	if err != nil {
		return false, fmt.Errorf("add an invitation: %w", err)
	}
	return added.RowsAffected() > 0, nil
}

// lockInvitation reads an open invitation of the organization and keeps others from changing it until the transaction
// ends.
func lockInvitation(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) (Invitation, error) {
	return oneInvitation(tx.Query(ctx, `SELECT`+invitationColumns+fromInvitations+`
		WHERE i.org_id = $1 AND i.id = $2 AND i.state = 'open' FOR NO KEY UPDATE OF i`, orgID, id))
}

// updateLink gives an invitation a new link and a new week. The previous link stops working.
func updateLink(ctx context.Context, tx db.Tx, principal core.Principal, id uuid.UUID, digest []byte) error {
	_, err := tx.Exec(ctx, `UPDATE invitations
		SET digest = $3, invited_by = $4, expires_at = now() + interval '7 days'
		WHERE org_id = $1 AND id = $2`, principal.OrgID, id, digest, principal.UserID)
	if err != nil {
		return fmt.Errorf("make a link for invitation %s: %w", id, err)
	}
	return nil
}

func updateInvitationRevoked(ctx context.Context, tx db.Tx, orgID, id uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE invitations SET state = 'revoked' WHERE org_id = $1 AND id = $2`, orgID, id)
	if err != nil {
		return fmt.Errorf("revoke invitation %s: %w", id, err)
	}
	return nil
}

// invitationKey is how a person names an invitation: by its id, which requires an account with a confirmed address, or
// by the secret of its link.
type invitationKey struct {
	id     uuid.UUID
	secret string
}

// condition is SQL over the key as $1 and the user as $2.
func (k invitationKey) condition() (string, any) {
	if k.secret != "" {
		return `i.digest = $1 AND i.email = (SELECT email FROM users WHERE id = $2)`, account.Digest(k.secret)
	}
	return `i.id = $1 AND i.email = (SELECT email FROM users WHERE id = $2 AND address_confirmed)`, k.id
}

// updateAccepted accepts the invitation unless another request was faster. It reports false if the user has accepted it
// before.
func updateAccepted(
	ctx context.Context, tx db.Tx, key invitationKey, userID uuid.UUID,
) (accepted Invitation, first bool, err error) { //nolint:nonamedreturns // they tell the results apart
	condition, value := key.condition()
	accepted, err = oneInvitation(tx.Query(ctx, `UPDATE invitations AS i SET state = 'accepted', accepted_by = $2
		FROM organizations AS o WHERE o.id = i.org_id AND `+condition+` AND `+validInvitation+`
		RETURNING`+invitationColumns, value, userID))
	if !core.HasCode(err, core.CodeNotFound) {
		return accepted, true, err
	}
	accepted, err = oneInvitation(tx.Query(ctx, `SELECT`+invitationColumns+fromInvitations+`
		WHERE `+condition+` AND i.state = 'accepted' AND i.accepted_by = $2`, value, userID))
	return accepted, false, err
}

func updateDeclined(ctx context.Context, tx db.Tx, key invitationKey, userID uuid.UUID) (Invitation, error) {
	condition, value := key.condition()
	return oneInvitation(tx.Query(ctx, `UPDATE invitations AS i SET state = 'declined'
		FROM organizations AS o WHERE o.id = i.org_id AND `+condition+` AND i.state = 'open'
		RETURNING`+invitationColumns, value, userID))
}

// oneInvitation is for the answer of a query.
func oneInvitation(rows pgx.Rows, err error) (Invitation, error) {
	if err != nil {
		return Invitation{}, fmt.Errorf("look an invitation up: %w", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, scanInvitation)
	if errors.Is(err, pgx.ErrNoRows) {
		return Invitation{}, core.NewError(core.CodeNotFound,
			"There is no such invitation. It was accepted, declined or revoked, or it has expired: ask for a new one.")
	}
	if err != nil {
		return Invitation{}, fmt.Errorf("look an invitation up: %w", err)
	}
	return found, nil
}

func scanInvitation(row pgx.CollectableRow) (Invitation, error) {
	var i Invitation
	err := row.Scan(&i.ID, &i.Email, &i.Name, &i.Role, &i.CreatedAt, &i.ExpiresAt, &i.Valid,
		&i.OrgID, &i.OrgSlug, &i.OrgName)
	return i, err
}

// isMemberByEmail reports whether a member of the organization has the e-mail address.
func isMemberByEmail(ctx context.Context, tx db.Tx, orgID uuid.UUID, email string) (bool, error) {
	var member bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (
			SELECT FROM memberships AS m JOIN users AS u ON u.id = m.user_id WHERE m.org_id = $1 AND u.email = $2)`,
		orgID, email).Scan(&member)
	if err != nil {
		return false, fmt.Errorf("look for a member by the address: %w", err)
	}
	return member, nil
}

// insertJoiningUser adds the user of a link, and reports whether no account has the address.
func insertJoiningUser(ctx context.Context, tx db.Tx, user account.User) (bool, error) {
	added, err := tx.Exec(ctx, `INSERT INTO users (id, email, name, password_hash, address_confirmed)
		VALUES ($1, $2, $3, $4, false) ON CONFLICT ON CONSTRAINT uq_users_email DO NOTHING`,
		user.ID, user.Email, user.Name, user.PasswordHash)
	if err != nil {
		return false, fmt.Errorf("add the user of an invitation: %w", err)
	}
	return added.RowsAffected() > 0, nil
}

// PurgeInvitations deletes invitations whose week has been over for a month, however they ended.
func (s *Service) PurgeInvitations(ctx context.Context) (int64, error) {
	deleted, err := s.db.Pool.Exec(ctx, `DELETE FROM invitations WHERE expires_at < now() - interval '30 days'`)
	if err != nil {
		return 0, fmt.Errorf("delete old invitations: %w", err)
	}
	return deleted.RowsAffected(), nil
}
