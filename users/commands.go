package users

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
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

func createOrgCommand(open Open) *cobra.Command {
	var name, quotaText string
	command := &cobra.Command{
		Use: "create SLUG", Short: "Create an organization", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			quota, err := parseQuota(quotaText)
			if err != nil {
				return err
			}
			if name == "" {
				name = args[0]
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.CreateOrganization(ctx, args[0], name, quota)
				return say(cmd, err, "%s\n", org.ID)
			})
		},
	}
	command.Flags().StringVar(&name, "name", "", "the organization's name (default: the slug)")
	command.Flags().StringVar(&quotaText, "runs", unlimited, "runs a month, or unlimited")
	return command
}

func setQuotaCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "set-quota SLUG RUNS", Short: "Set the monthly quota of runs (a number or unlimited)",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			quota, err := parseQuota(args[1])
			if err != nil {
				return err
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.SetRunQuota(ctx, org.ID, quota), "%s: %s\n", org.Slug, describeQuota(quota))
			})
		},
	}
}

func setOverageCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use:   "set-overage SLUG on|off",
		Short: "Let an organization start runs beyond its quota, each charged separately",
		Args:  cobra.ExactArgs(2), ValidArgs: []string{"on", "off"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "on" && args[1] != "off" {
				return core.InvalidParameter("overage billing", fmt.Sprintf("is on or off, not %q", args[1]))
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				allowed := args[1] == "on"
				return say(cmd, s.SetOverage(ctx, org.ID, allowed), "%s: %s\n", org.Slug, describeOverage(allowed))
			})
		},
	}
}

func setKeysCommand(open Open) *cobra.Command {
	var policy KeyPolicy
	command := &cobra.Command{
		Use:   "set-keys SLUG",
		Short: "Set whether an organization requires idempotency keys, and their lifetime",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.SetKeyPolicy(ctx, org.ID, policy), "%s: %s\n", org.Slug, describeKeys(policy))
			})
		},
	}
	command.Flags().BoolVar(&policy.Required, "required", false, "refuse requests without a key")
	command.Flags().DurationVar(&policy.Lifetime, "lifetime", 0, "how long keys are kept, 0 for the default")
	// What is left out must not turn off what was set before.
	requireFlags(command, "required", "lifetime")
	return command
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
					user, err := s.Accounts.CreateUser(ctx, args[0], name, password)
					return say(cmd, err, "%s\n", user.ID)
				}
				organization, err := s.Organization(ctx, org)
				if err != nil {
					return err
				}
				user, err := s.CreateMember(ctx, MemberRequest{
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
				organization, err := s.Organization(ctx, org)
				if err != nil {
					return err
				}
				user, err := s.Accounts.User(ctx, args[0])
				if err != nil {
					return err
				}
				err = s.SetMembership(ctx, organization.ID, user.ID, core.Role(role))
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
				organization, err := s.Organization(ctx, org)
				if err != nil {
					return err
				}
				user, err := s.Accounts.User(ctx, email)
				if err != nil {
					return err
				}
				secret, err := s.CreateToken(ctx, TokenRequest{
					OrgID: organization.ID, UserID: user.ID, Label: label, Role: core.Role(role), ValidFor: validFor,
				})
				if errors.Is(err, errNotMember) {
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

func parseQuota(text string) (*int64, error) {
	if text == unlimited {
		return nil, nil //nolint:nilnil // no quota is no limit
	}
	quota, err := strconv.ParseInt(text, 10, 64)
	if err != nil || quota < 0 {
		return nil, core.InvalidParameter("the number of runs",
			fmt.Sprintf("must be 0 or more, or %s; %q is neither", unlimited, text))
	}
	return &quota, nil
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
