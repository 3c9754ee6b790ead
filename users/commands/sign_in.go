package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users/account"
)

func setPasswordCommand(open Open) *cobra.Command {
	var passwordStdin bool
	command := &cobra.Command{
		Use:   "set-password EMAIL --password-stdin",
		Short: "Set a user's dashboard password and end the user's sessions",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, err := readPassword(cmd.InOrStdin())
			if err != nil {
				return err
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				user, err := s.Users.Accounts.User(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.Users.SignIn.SetPassword(ctx, user.ID, password),
					"%s: password set, sessions ended\n", user.Email)
			})
		},
	}
	command.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from standard input")
	requireFlags(command, "password-stdin")
	return command
}

func setOperatorCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "set-operator EMAIL on|off", Short: "Give a user access to the operations page",
		Args: cobra.ExactArgs(2), ValidArgs: []string{"on", "off"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "on" && args[1] != "off" {
				return core.InvalidParameter("operator", fmt.Sprintf("is on or off, not %q", args[1]))
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				user, err := s.Users.Accounts.User(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.Users.SetOperator(ctx, user.ID, args[1] == "on"), "%s: operator %s\n", user.Email,
					args[1])
			})
		},
	}
}

func linkPasswordCommand(open Open) *cobra.Command {
	life := 24 * time.Hour
	command := &cobra.Command{
		Use: "link-password EMAIL", Short: "Print a link with which a user sets a new password",
		Long: "Print a link with which a user sets a new password. It works once, until a new link is\n" +
			"created. If mail is configured, the user gets the link by mail, too.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				path, expires, err := s.Users.SignIn.LinkPassword(ctx, args[0], life)
				return say(cmd, err, "%s%s\nworks until %s\n", s.Users.Address(), path,
					expires.UTC().Format(time.RFC3339))
			})
		},
	}
	command.Flags().DurationVar(&life, "valid-for", life, "how long the link works, from 1h to 72h")
	return command
}

func removeFactorCommand(open Open) *cobra.Command {
	return onUser(open, &cobra.Command{
		Use: "remove-second-factor EMAIL", Short: "Let a user who has lost the authenticator app sign in without it",
	}, func(s *Service) func(context.Context, string) error { return s.Users.SignIn.RemoveFactor }, "no second factor")
}

func unlinkCommand(open Open) *cobra.Command {
	return onUser(open, &cobra.Command{
		Use: "unlink EMAIL", Short: "Separate a user from the account at the OpenID Connect provider",
	}, func(s *Service) func(context.Context, string) error { return s.Users.SignIn.Unlink }, "linked to no provider")
}

// onUser makes a command that changes one user and says what the user is then.
func onUser(
	open Open, command *cobra.Command, change func(*Service) func(context.Context, string) error, state string,
) *cobra.Command {
	command.Args = cobra.ExactArgs(1)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		return open(cmd.Context(), func(ctx context.Context, s *Service) error {
			return say(cmd, change(s)(ctx, args[0]), "%s: %s\n", account.NormalizeEmail(args[0]), state)
		})
	}
	return command
}
