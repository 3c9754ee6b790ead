package users

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Tenants lists the organizations by slug, or the one with the slug if it is not empty.
func (s *Service) Tenants(ctx context.Context, slug string) ([]Tenant, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT o.id, o.slug, o.name, o.suspended_at, o.created_at,
			(SELECT count(*) FROM memberships AS m WHERE m.org_id = o.id),
			(SELECT count(*) FROM api_tokens AS t
				WHERE t.org_id = o.id AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())),
			coalesce((SELECT u.used FROM usage_counters AS u WHERE u.org_id = o.id AND u.metric = 'runs'
				AND u.period_start = date_trunc('month', now() AT TIME ZONE 'UTC')), 0),
			o.run_quota
		FROM organizations AS o WHERE $1 IN ('', o.slug) ORDER BY o.slug`, slug)
	if err != nil {
		return nil, fmt.Errorf("list organizations: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Tenant])
	if err != nil {
		return nil, fmt.Errorf("list organizations: %w", err)
	}
	return found, nil
}

// Account is a user as operators see it.
type Account struct {
	Email, Name string
	// Organizations are the slugs of those that the user is a member of.
	Organizations []string
	// Disabled is the time from which the user may do nothing; nil if the user is enabled.
	Disabled  *time.Time
	CreatedAt time.Time
}

// Users lists all users by their e-mail addresses.
func (s *Service) Users(ctx context.Context) ([]Account, error) {
	rows, err := s.db.Pool.Query(ctx, `
		SELECT u.email, u.name, coalesce(array_agg(o.slug ORDER BY o.slug) FILTER (WHERE o.id IS NOT NULL), '{}'),
			u.disabled_at, u.created_at
		FROM users AS u
		LEFT JOIN memberships AS m ON m.user_id = u.id LEFT JOIN organizations AS o ON o.id = m.org_id
		GROUP BY u.id ORDER BY u.email`)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Account])
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return found, nil
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
