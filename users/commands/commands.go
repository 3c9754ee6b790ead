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
	org.AddCommand(createOrgCommand(open), setOrgCommand(open), listOrgsCommand(open), auditCommand(open))
	user := &cobra.Command{Use: "user", Short: "Create, list, set, disable and delete users"}
	user.AddCommand(createUserCommand(open), setUserCommand(open), listUsersCommand(open), deleteUserCommand(open),
		exportUserCommand(open))
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

// setting is one use of org set or user set.
type setting struct {
	cmd     *cobra.Command
	reason  string
	dryRun  bool
	changes []*change
}

// change is one change of an organization or a user.
type change struct {
	// text says what becomes of them. A change may only know it when it is made.
	text  string
	apply func(ctx context.Context, s *Service, id uuid.UUID) error
}

// bind adds the flags that both commands have. The flag of the state is set for a reason.
func (to *setting) bind(state, usage string, on *bool) {
	to.cmd.Flags().BoolVar(on, state, false, usage)
	to.cmd.Flags().StringVar(&to.reason, "reason", "", "why --"+state+" is set, for the audit record")
	dryRunFlag(to.cmd, &to.dryRun)
}

func (to *setting) given(flag string) bool { return to.cmd.Flags().Changed(flag) }

// inPairs refuses one flag of a pair without the other, because it would reset what the other one has set before, or
// leave a change without its reason.
func (to *setting) inPairs(pairs ...[2]string) error {
	for _, pair := range pairs {
		if to.given(pair[0]) != to.given(pair[1]) {
			return core.InvalidPayload("--" + pair[0] + " and --" + pair[1] + " are only set together.")
		}
	}
	return nil
}

func (to *setting) add(text string, apply func(context.Context, *Service, uuid.UUID) error) *change {
	to.changes = append(to.changes, &change{text, apply})
	return to.changes[len(to.changes)-1]
}

// atLeastOne refuses a command without a flag that changes something.
func (to *setting) atLeastOne() error {
	if len(to.changes) == 0 {
		return core.InvalidPayload("Nothing is to be set; see " + to.cmd.CommandPath() + " --help.")
	}
	return nil
}

// set makes one change after the other and prints each. What comes before a failure stays. A dry run only prints them.
func (to *setting) set(ctx context.Context, s *Service, name string, id uuid.UUID) error {
	for _, c := range to.changes {
		would := "would be set: "
		if !to.dryRun {
			would = ""
			if err := c.apply(ctx, s, id); err != nil {
				return err
			}
		}
		if err := say(to.cmd, nil, "%s: %s%s\n", name, would, c.text); err != nil {
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
