package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
)

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

// Account is a user as operators see it.
type Account struct {
	Email, Name string
	// Organizations are the slugs of those that the user is a member of, with spaces between them.
	Organizations string
	// Disabled is the time from which the user may do nothing; nil if the user is enabled.
	Disabled  *time.Time
	CreatedAt time.Time
}

func listOrgsCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "list [SLUG]", Short: "List the organizations, or the one with the slug", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				slug := strings.Join(args, "")
				if slug != "" {
					if _, err := s.Users.Organization(ctx, slug); err != nil {
						return err
					}
				}
				tenants, err := s.Tenants(ctx, slug)
				if err != nil {
					return err
				}
				rows := [][]string{{"SLUG", "STATE", "MEMBERS", "TOKENS", "RUNS THIS MONTH", "CREATED", "NAME", "ID"}}
				for _, t := range tenants {
					rows = append(rows, []string{
						t.Slug, t.state(), strconv.FormatInt(t.Members, 10), strconv.FormatInt(t.Tokens, 10), t.usage(),
						t.CreatedAt.UTC().Format(time.DateOnly), t.Name, t.ID.String(),
					})
				}
				return cli.WriteTable(cmd.OutOrStdout(), rows...)
			})
		},
	}
}

func (t Tenant) state() string {
	if t.Suspended == nil {
		return "active"
	}
	return "suspended since " + t.Suspended.UTC().Format(time.RFC3339)
}

func (t Tenant) usage() string {
	if t.Quota == nil {
		return strconv.FormatInt(t.Used, 10)
	}
	return fmt.Sprintf("%d of %d", t.Used, *t.Quota)
}

func (a Account) state() string {
	if a.Disabled == nil {
		return "active"
	}
	return "disabled since " + a.Disabled.UTC().Format(time.RFC3339)
}

func listUsersCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the users", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				accounts, err := s.Accounts(ctx)
				if err != nil {
					return err
				}
				rows := [][]string{{"EMAIL", "NAME", "STATE", "ORGANIZATIONS", "CREATED"}}
				for _, a := range accounts {
					rows = append(rows, []string{
						a.Email, a.Name, a.state(), a.Organizations,
						a.CreatedAt.UTC().Format(time.DateOnly),
					})
				}
				return cli.WriteTable(cmd.OutOrStdout(), rows...)
			})
		},
	}
}

// Tenants lists the organizations by slug, or the one with the slug if it is not empty.
func (s *Service) Tenants(ctx context.Context, slug string) ([]Tenant, error) {
	var found []Tenant
	err := s.db.Gorm.WithContext(ctx).Raw(`
		SELECT o.id, o.slug, o.name, o.suspended_at AS suspended, o.created_at,
			(SELECT count(*) FROM memberships AS m WHERE m.org_id = o.id) AS members,
			(SELECT count(*) FROM api_tokens AS t WHERE t.org_id = o.id AND t.revoked_at IS NULL
				AND (t.expires_at IS NULL OR t.expires_at > now())) AS tokens,
			coalesce((SELECT u.used FROM usage_counters AS u WHERE u.org_id = o.id AND u.metric = 'runs'
				AND u.period_start = date_trunc('month', now() AT TIME ZONE 'UTC')), 0) AS used,
			o.run_quota AS quota
		FROM organizations AS o WHERE ? IN ('', o.slug) ORDER BY o.slug`, slug).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("list organizations: %w", err)
	}
	return found, nil
}

// Accounts lists all users by their e-mail addresses.
func (s *Service) Accounts(ctx context.Context) ([]Account, error) {
	var found []Account
	err := s.db.Gorm.WithContext(ctx).Raw(`
		SELECT u.email, u.name, coalesce(string_agg(o.slug, ' ' ORDER BY o.slug), '') AS organizations,
			u.disabled_at AS disabled, u.created_at
		FROM users AS u
		LEFT JOIN memberships AS m ON m.user_id = u.id LEFT JOIN organizations AS o ON o.id = m.org_id
		GROUP BY u.id ORDER BY u.email`).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return found, nil
}
