package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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

// Accounts lists all users by their e-mail addresses.
func (s *Service) Accounts(ctx context.Context) ([]Account, error) {
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

// Tenant is an organization as operators see it.
type Tenant struct {
	ID   uuid.UUID
	Slug string
	Name string
	// Suspended is the time from which the organization may only read; nil if it is not suspended.
	Suspended *time.Time
	CreatedAt time.Time
	// Members and Tokens count the members and their active tokens, and Used the runs of this month.
	Members, Tokens, Used int64
	// Quota is how many runs a month the organization may start; nil is unlimited.
	Quota *int64
}
