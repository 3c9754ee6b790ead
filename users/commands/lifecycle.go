package commands

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/account"
)

func dryRunFlag(command *cobra.Command, dryRun *bool) {
	command.Flags().BoolVar(dryRun, "dry-run", false, "print what would be done, and change nothing")
}

func deleteUserCommand(open Open) *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use: "delete EMAIL", Short: "Delete a user with all tokens, sessions and memberships", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open.onUser(cmd.Context(), args[0], func(ctx context.Context, s *Service, user account.User) error {
				if dryRun {
					return printFootprint(ctx, cmd, s, user)
				}
				return say(cmd, s.Users.DeleteUser(ctx, user.Email), "%s: deleted\n", user.Email)
			})
		},
	}
	dryRunFlag(command, &dryRun)
	return command
}

// printFootprint prints what would be deleted with a user.
func printFootprint(ctx context.Context, cmd *cobra.Command, s *Service, user account.User) error {
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

func exportUserCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "export EMAIL", Short: "Write everything that is kept about a user, as JSON Lines",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open.onUser(cmd.Context(), args[0], func(ctx context.Context, s *Service, user account.User) error {
				return s.ExportUser(ctx, user, cmd.OutOrStdout())
			})
		},
	}
}

// revokeTokenCommand revokes a token on the database itself.
func revokeTokenCommand(open Open) *cobra.Command {
	var org string
	var dryRun bool
	command := &cobra.Command{
		Use: "revoke TOKEN --org SLUG", Short: "Revoke a token of any member, by id", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, isID := core.ParseID(args[0])
			if !isID {
				return core.InvalidParameter("the token", "is not an id")
			}
			return open.onOrg(cmd.Context(), org, func(ctx context.Context, s *Service, org users.Organization) error {
				if dryRun {
					return s.describeRevocation(ctx, cmd, org.ID, id)
				}
				return say(cmd, s.Users.Access.RevokeToken(ctx, org.ID, id), "revoked %s\n", id)
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug: revoke on the database, as its operator")
	requireFlags(command, "org")
	dryRunFlag(command, &dryRun)
	return command
}

func (s *Service) describeRevocation(ctx context.Context, cmd *cobra.Command, orgID, id uuid.UUID) error {
	found, err := s.Users.Access.FindToken(ctx, core.Principal{OrgID: orgID, Role: api.RoleOwner}, id)
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
