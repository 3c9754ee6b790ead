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
	"github.com/simplevalidations/simplevalidations/users/signin"
)

// SetDisabled disables a user, or enables one again. The tokens of a disabled user are refused from the next request
// on, in every process, and the sessions end.
func (s *Service) SetDisabled(ctx context.Context, userID uuid.UUID, disabled bool, reason string) error {
	action, statement := "user.enable", `UPDATE users SET disabled_at = NULL WHERE id = $1`
	if disabled {
		action, statement = "user.disable", `UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE id = $1`
	}
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		batch := tx.NewBatch()
		batch.Queue(statement, userID)
		if disabled {
			signin.QueueSignOut(batch, userID)
		}
		if err := batch.Send(ctx); err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
		return account.AuditUser(ctx, tx, uuid.Nil, userID, action, reason)
	})
}

// DeleteUser deletes a user with the tokens, the sessions, the memberships, the open invitations, the second factor,
// the links, the accounts at the provider and the mails that wait. Runs and audit records keep the id alone. The last
// owner of an organization is refused with last_owner.
func (s *Service) DeleteUser(ctx context.Context, email string) error {
	err := db.Do(ctx, s.db, func(tx db.Tx) error {
		var id uuid.UUID
		var orgs []uuid.UUID
		err := tx.QueryRow(ctx, `
			SELECT id, ARRAY(SELECT org_id FROM memberships WHERE user_id = users.id ORDER BY org_id)
			FROM users WHERE email = lower($1) FOR UPDATE`, email).Scan(&id, &orgs)
		if errors.Is(err, pgx.ErrNoRows) {
			return core.NewError(core.CodeNotFound, fmt.Sprintf("There is no user %q.", email))
		}
		if err != nil {
			return fmt.Errorf("find user %s: %w", email, err)
		}
		batch := tx.NewBatch()
		batch.Queue(`DELETE FROM invitations WHERE email = lower($1)`, email)
		batch.Queue(`DELETE FROM mails WHERE recipient = lower($1)`, email)
		batch.Queue(`DELETE FROM users WHERE id = $1`, id)
		if len(orgs) == 0 {
			orgs = []uuid.UUID{uuid.Nil} // Somebody who was a member of nothing is audited, too.
		}
		for _, orgID := range orgs {
			auditID, err := core.NewID()
			if err != nil {
				return err
			}
			core.Audit(batch, core.AuditRecord{
				ID: auditID, OrgID: orgID, Action: "user.delete", TargetType: "user", TargetID: id.String(),
			})
		}
		return batch.Send(ctx)
	})
	if db.ViolatedConstraint(err) == "tr_memberships_last_owner" {
		return core.NewError(core.CodeLastOwner,
			email+" is the only owner of an organization. Make another member an owner, or delete the organization.")
	}
	return err
}
