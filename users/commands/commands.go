package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// Open runs a command's work with the service on the configured database.
type Open func(ctx context.Context, do func(context.Context, *Service) error) error

// Commands are the app's commands. They act on the database directly, so that the first
// account of a service can be created.
func Commands(open Open) []*cobra.Command {
	org := &cobra.Command{Use: "org", Short: "Create, list, set, suspend, move and delete organizations"}
	org.AddCommand(createOrgCommand(open), setOrgCommand(open), listOrgsCommand(open), auditCommand(open),
		suspendCommand(open), resumeCommand(open))
	user := &cobra.Command{Use: "user", Short: "Create, list, set, disable and delete users"}
	user.AddCommand(createUserCommand(open), setUserCommand(open), listUsersCommand(open), deleteUserCommand(open),
		disableUserCommand(open), enableUserCommand(open), exportUserCommand(open))
	token := &cobra.Command{Use: "token", Short: "Create and revoke API tokens of any user"}
	token.AddCommand(createTokenCommand(open), revokeTokenCommand(open))
	return []*cobra.Command{org, user, token}
}

// onOrg runs a command's work on the organization with the slug.
func (open Open) onOrg(
	ctx context.Context, slug string, do func(context.Context, *Service, users.Organization) error,
) error {
	return open(ctx, func(ctx context.Context, s *Service) error {
		org, err := s.Users.Organization(ctx, slug)
		if err != nil {
			return err
		}
		return do(ctx, s, org)
	})
}

// onUser runs a command's work on the user with the e-mail address.
func (open Open) onUser(
	ctx context.Context, email string, do func(context.Context, *Service, account.User) error,
) error {
	return open(ctx, func(ctx context.Context, s *Service) error {
		user, err := s.Users.Accounts.User(ctx, email)
		if err != nil {
			return err
		}
		return do(ctx, s, user)
	})
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
					OrgID: organization.ID, Role: api.Role(role), Email: args[0], Name: name, Password: password,
				})
				return say(cmd, err, "%s\n", user.ID)
			})
		},
	}
	command.Flags().StringVar(&name, "name", "", "the user's name")
	command.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from standard input")
	command.Flags().StringVar(&org, "org", "", "make the user a member of this organization")
	command.Flags().StringVar(&role, "role", string(api.RoleOwner), "the member's role")
	return command
}

func createTokenCommand(open Open) *cobra.Command {
	var org, email, label, role string
	var validFor time.Duration
	command := &cobra.Command{
		Use: "create --org SLUG --user EMAIL", Short: "Create an API token and print its secret once",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return open.onOrg(cmd.Context(), org, func(ctx context.Context, s *Service, org users.Organization) error {
				user, err := s.Users.Accounts.User(ctx, email)
				if err != nil {
					return err
				}
				secret, err := s.Users.Access.CreateToken(ctx, access.TokenRequest{
					OrgID: org.ID, UserID: user.ID, Label: label, Role: api.Role(role), ValidFor: validFor,
				})
				if errors.Is(err, access.ErrNotMember) {
					return fmt.Errorf("%s is not a member of %s; first run: user set %s --org %s --role ROLE",
						user.Email, org.Slug, user.Email, org.Slug)
				}
				return say(cmd, err, "%s\n", secret)
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	command.Flags().StringVar(&email, "user", "", "the owner's e-mail address")
	command.Flags().StringVar(&label, "label", "command line", "the label of the token")
	command.Flags().StringVar(&role, "role", string(api.RoleExecutor), "the highest role of the token")
	command.Flags().DurationVar(&validFor, "valid-for", 0, "the token's lifetime, like 720h (default: no expiry)")
	requireFlags(command, "org", "user")
	return command
}

func requireFlags(command *cobra.Command, names ...string) {
	for _, name := range names {
		_ = command.MarkFlagRequired(name) // The flag is there: it was defined above.
	}
}

// change is one change of an organization or a user; it returns what is to be printed.
type change func(ctx context.Context, s *Service, id uuid.UUID) (string, error)

// isTogether reports whether both flags are given. One without the other is refused, because it would reset what the
// other one has set before.
func isTogether(command *cobra.Command, first, second string) (bool, error) {
	given := command.Flags().Changed(first)
	if given != command.Flags().Changed(second) {
		return false, core.InvalidPayload("--" + first + " and --" + second + " are only set together.")
	}
	return given, nil
}

// atLeastOne refuses a command without a flag that changes something.
func atLeastOne(cmd *cobra.Command, changes []change) ([]change, error) {
	if len(changes) == 0 {
		return nil, core.InvalidPayload("Nothing is to be set; see " + cmd.CommandPath() + " --help.")
	}
	return changes, nil
}

// makeChanges makes one change after the other and prints each. What comes before a failure stays.
func makeChanges(
	ctx context.Context, cmd *cobra.Command, s *Service, name string, id uuid.UUID, changes []change,
) error {
	for _, apply := range changes {
		done, err := apply(ctx, s, id)
		if err := say(cmd, err, "%s: %s\n", name, done); err != nil {
			return err
		}
	}
	return nil
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
