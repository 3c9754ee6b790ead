package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// Open runs a command's work with the service on the configured database.
type Open func(ctx context.Context, do func(context.Context, *Service) error) error

// unlimited is the quota without a limit on the command line.
const unlimited = "unlimited"

// Commands are the app's commands. They act on the database directly, so that the first
// account of a service can be created.
func Commands(open Open) []*cobra.Command {
	org := &cobra.Command{Use: "org", Short: "Create, list, suspend, move and delete organizations, and set quotas"}
	org.AddCommand(createOrgCommand(open), setQuotaCommand(open), setOverageCommand(open),
		setKeysCommand(open), setRetentionCommand(open), setTokensCommand(open),
		listOrgsCommand(open), showOrgCommand(open), suspendCommand(open), resumeCommand(open),
		auditCommand(open))
	user := &cobra.Command{Use: "user", Short: "Create, list, disable and delete users, and make them members"}
	user.AddCommand(createUserCommand(open), addUserCommand(open), setPasswordCommand(open), setOperatorCommand(open),
		listUsersCommand(open), deleteUserCommand(open), disableUserCommand(open), enableUserCommand(open),
		exportUserCommand(open), linkPasswordCommand(open), removeFactorCommand(open), unlinkCommand(open))
	token := &cobra.Command{Use: "token", Short: "Create API tokens"}
	token.AddCommand(createTokenCommand(open))
	return []*cobra.Command{org, user, token}
}

func createUserCommand(open Open) *cobra.Command {
	var name, org, role string
	var passwordStdin bool
	command := &cobra.Command{
		Use: "create EMAIL", Short: "Create a user, optionally as a member of an organization",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var password string
			if passwordStdin {
				var err error
				if password, err = readPassword(cmd.InOrStdin()); err != nil {
					return err
				}
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				if org == "" {
					user, err := s.Users.Accounts.CreateUser(ctx, args[0], name, password)
					return say(cmd, err, "%s\n", user.ID)
				}
				organization, err := s.Users.Organization(ctx, org)
				if err != nil {
					return err
				}
				user, err := s.Users.CreateMember(ctx, users.MemberRequest{
					OrgID: organization.ID, Role: core.Role(role), Email: args[0], Name: name, Password: password,
				})
				return say(cmd, err, "%s\n", user.ID)
			})
		},
	}
	command.Flags().StringVar(&name, "name", "", "the user's name")
	command.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from standard input")
	command.Flags().StringVar(&org, "org", "", "make the user a member of this organization")
	command.Flags().StringVar(&role, "role", string(core.RoleOwner), "the member's role")
	return command
}

func addUserCommand(open Open) *cobra.Command {
	var org, role string
	command := &cobra.Command{
		Use: "add EMAIL --org SLUG --role ROLE", Short: "Make a user a member of an organization, or change the role",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				organization, err := s.Users.Organization(ctx, org)
				if err != nil {
					return err
				}
				user, err := s.Users.Accounts.User(ctx, args[0])
				if err != nil {
					return err
				}
				err = s.Users.SetMembership(ctx, organization.ID, user.ID, core.Role(role))
				return say(cmd, err, "%s is %s of %s\n", user.Email, role, organization.Slug)
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	command.Flags().StringVar(&role, "role", "", "owner, admin, author, executor or viewer")
	requireFlags(command, "org", "role")
	return command
}

func createTokenCommand(open Open) *cobra.Command {
	var org, email, label, role string
	var validFor time.Duration
	command := &cobra.Command{
		Use: "create --org SLUG --user EMAIL", Short: "Create an API token and print its secret once",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				organization, err := s.Users.Organization(ctx, org)
				if err != nil {
					return err
				}
				user, err := s.Users.Accounts.User(ctx, email)
				if err != nil {
					return err
				}
				secret, err := s.Users.Access.CreateToken(ctx, access.TokenRequest{
					OrgID: organization.ID, UserID: user.ID, Label: label, Role: core.Role(role), ValidFor: validFor,
				})
				if errors.Is(err, access.ErrNotMember) {
					return fmt.Errorf("%s is not a member of %s; first run: user add %s --org %s --role ROLE",
						user.Email, organization.Slug, user.Email, organization.Slug)
				}
				return say(cmd, err, "%s\n", secret)
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	command.Flags().StringVar(&email, "user", "", "the owner's e-mail address")
	command.Flags().StringVar(&label, "label", "command line", "the label of the token")
	command.Flags().StringVar(&role, "role", string(core.RoleExecutor), "the highest role of the token")
	command.Flags().DurationVar(&validFor, "valid-for", 0, "the token's lifetime, like 720h (default: no expiry)")
	requireFlags(command, "org", "user")
	return command
}

func requireFlags(command *cobra.Command, names ...string) {
	for _, name := range names {
		_ = command.MarkFlagRequired(name) // The flag is there: it was defined above.
	}
}

func readPassword(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	password := strings.TrimRight(line, "\r\n")
	if len(password) < account.MinPassword {
		return "", core.InvalidParameter("the password",
			fmt.Sprintf("must have %d characters or more", account.MinPassword))
	}
	return password, nil
}

func say(cmd *cobra.Command, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	return err
}
