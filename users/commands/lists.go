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

func listOrgsCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the organizations", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				tenants, err := s.Tenants(ctx, "")
				if err != nil {
					return err
				}
				rows := [][]string{{"SLUG", "STATE", "MEMBERS", "RUNS THIS MONTH", "CREATED"}}
				for _, t := range tenants {
					rows = append(rows, []string{
						t.Slug, t.state(), strconv.FormatInt(t.Members, 10), t.usage(),
						t.CreatedAt.UTC().Format(time.DateOnly),
					})
				}
				return cli.WriteTable(cmd.OutOrStdout(), rows...)
			})
		},
	}
}

func showOrgCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "show SLUG", Short: "Show an organization", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				if _, err := s.Users.Organization(ctx, args[0]); err != nil {
					return err
				}
				tenants, err := s.Tenants(ctx, args[0])
				if err != nil {
					return err
				}
				for _, t := range tenants {
					err = cli.WriteTable(cmd.OutOrStdout(),
						[]string{"id", t.ID.String()}, []string{"slug", t.Slug}, []string{"name", t.Name},
						[]string{"state", t.state()}, []string{"created", t.CreatedAt.UTC().Format(time.RFC3339)},
						[]string{"members", strconv.FormatInt(t.Members, 10)},
						[]string{"active tokens", strconv.FormatInt(t.Tokens, 10)},
						[]string{"runs this month", t.usage()})
				}
				return err
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

func suspendCommand(open Open) *cobra.Command {
	return suspensionCommand(open, &cobra.Command{
		Use: "suspend SLUG", Short: "Suspend an organization, so that its members can only read",
	}, func(s *Service) func(context.Context, uuid.UUID, string) error { return s.Users.Suspend }, "suspended")
}

func resumeCommand(open Open) *cobra.Command {
	return suspensionCommand(open, &cobra.Command{
		Use: "resume SLUG", Short: "End the suspension of an organization",
	}, func(s *Service) func(context.Context, uuid.UUID, string) error { return s.Users.Resume }, "active")
}

func suspensionCommand(
	open Open, command *cobra.Command, change func(*Service) func(context.Context, uuid.UUID, string) error,
	state string,
) *cobra.Command {
	var reason string
	var dryRun bool
	command.Args = cobra.ExactArgs(1)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		return open(cmd.Context(), func(ctx context.Context, s *Service) error {
			org, err := s.Users.Organization(ctx, args[0])
			if err != nil {
				return err
			}
			if dryRun {
				return say(cmd, nil, "%s: would be %s\n", org.Slug, state)
			}
			return say(cmd, change(s)(ctx, org.ID, reason), "%s: %s\n", org.Slug, state)
		})
	}
	dryRunFlag(command, &dryRun)
	command.Flags().StringVar(&reason, "reason", "", "why, for the audit record")
	requireFlags(command, "reason")
	return command
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
						a.Email, a.Name, a.state(), strings.Join(a.Organizations, " "),
						a.CreatedAt.UTC().Format(time.DateOnly),
					})
				}
				return cli.WriteTable(cmd.OutOrStdout(), rows...)
			})
		},
	}
}
