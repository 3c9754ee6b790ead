package commands

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/cli"
)

func dryRunFlag(command *cobra.Command, dryRun *bool) {
	command.Flags().BoolVar(dryRun, "dry-run", false, "print what would be done, and change nothing")
}

func deleteUserCommand(open Open) *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use: "delete EMAIL", Short: "Delete a user with all tokens, sessions and memberships", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				if dryRun {
					return printFootprint(ctx, cmd, s, args[0])
				}
				return say(cmd, s.Users.DeleteUser(ctx, args[0]), "%s: deleted\n", args[0])
			})
		},
	}
	dryRunFlag(command, &dryRun)
	return command
}

// printFootprint prints what would be deleted with a user.
func printFootprint(ctx context.Context, cmd *cobra.Command, s *Service, email string) error {
	user, err := s.Users.Accounts.User(ctx, email)
	if err != nil {
		return err
	}
	found, err := s.footprint(ctx, user)
	if err != nil {
		return err
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	return cli.WriteTable(cmd.OutOrStdout(),
		[]string{"users", "1"}, []string{"memberships", count(found.Memberships)},
		[]string{"api_tokens", count(found.Tokens)}, []string{"sessions", count(found.Sessions)},
		[]string{"invitations", count(found.Invitations)}, []string{"second_factors", count(found.Factors)},
		[]string{"identities", count(found.Identities)}, []string{"password_links", count(found.Links)},
		[]string{"mails", count(found.Mails)})
}

func disableUserCommand(open Open) *cobra.Command {
	return ableCommand(open, &cobra.Command{
		Use: "disable EMAIL", Short: "Refuse a user's tokens and sessions until the user is enabled again",
	}, true)
}

func enableUserCommand(open Open) *cobra.Command {
	return ableCommand(open, &cobra.Command{
		Use: "enable EMAIL", Short: "Let a disabled user sign in and use tokens again",
	}, false)
}

func ableCommand(open Open, command *cobra.Command, disabled bool) *cobra.Command {
	var reason string
	var dryRun bool
	command.Args = cobra.ExactArgs(1)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		return open(cmd.Context(), func(ctx context.Context, s *Service) error {
			user, err := s.Users.Accounts.User(ctx, args[0])
			if err != nil {
				return err
			}
			state := "enabled"
			if disabled {
				state = "disabled"
			}
			if dryRun {
				return say(cmd, nil, "%s: would be %s\n", user.Email, state)
			}
			return say(cmd, s.Users.SetDisabled(ctx, user.ID, disabled, reason), "%s: %s\n", user.Email, state)
		})
	}
	command.Flags().StringVar(&reason, "reason", "", "why, for the audit record")
	requireFlags(command, "reason")
	dryRunFlag(command, &dryRun)
	return command
}

func exportUserCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "export EMAIL", Short: "Write everything that is kept about a user, as JSON Lines",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				user, err := s.Users.Accounts.User(ctx, args[0])
				if err != nil {
					return err
				}
				return s.ExportUser(ctx, user, cmd.OutOrStdout())
			})
		},
	}
}

// RevokeTokenCommand revokes a token on the database itself.
func RevokeTokenCommand(open Open) *cobra.Command {
	var org string
	var dryRun bool
	command := &cobra.Command{
		Use: "revoke TOKEN --org SLUG", Short: "Revoke a token of any member, by id", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, isID := core.ParseID(args[0])
			if !isID {
				return core.InvalidParameter("the token", "is not an id")
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				organization, err := s.Users.Organization(ctx, org)
				if err != nil {
					return err
				}
				if dryRun {
					return s.describeRevocation(ctx, cmd, organization.ID, id)
				}
				return say(cmd, s.Users.Access.RevokeToken(ctx, organization.ID, id), "revoked %s\n", id)
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug: revoke on the database, as its operator")
	requireFlags(command, "org")
	dryRunFlag(command, &dryRun)
	return command
}

func (s *Service) describeRevocation(ctx context.Context, cmd *cobra.Command, orgID, id uuid.UUID) error {
	found, err := s.Users.Access.FindToken(ctx, core.Principal{OrgID: orgID, Role: core.RoleOwner}, id)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return core.NotFound("token")
	}
	return say(cmd, nil, "%s (%s) of %s is %s and would be revoked\n",
		id, cli.Clean(found[0].Label), found[0].Email, found[0].State)
}

func auditCommand(open Open) *cobra.Command {
	var org, since string
	var withoutStarts bool
	command := &cobra.Command{
		Use: "audit", Short: "Write the audit records of one or all organizations, as JSON Lines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter := auditExport{withoutStarts: withoutStarts}
			if since != "" {
				begin, err := time.Parse(time.RFC3339, since)
				if err != nil {
					return core.InvalidParameter("--since", fmt.Sprintf("is like 2026-01-31T00:00:00Z, not %q", since))
				}
				filter.from = core.FirstIDAt(begin)
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				if org != "" {
					organization, err := s.Users.Organization(ctx, org)
					if err != nil {
						return err
					}
					filter.org = &organization.ID
				}
				return s.exportAudit(ctx, filter, cmd.OutOrStdout())
			})
		},
	}
	command.Flags().StringVar(&org, "org", "",
		"the organization's slug (default: all, including records without an organization)")
	command.Flags().StringVar(&since, "since", "", "the time of the first record, like 2026-01-31T00:00:00Z")
	command.Flags().BoolVar(&withoutStarts, "without-starts", false, "leave out the starts of runs")
	return command
}
