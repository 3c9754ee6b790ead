package users

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
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
				user, err := s.Accounts.User(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.SignIn.SetPassword(ctx, user.ID, password), "%s: password set, sessions ended\n",
					user.Email)
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
				user, err := s.Accounts.User(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.SetOperator(ctx, user.ID, args[1] == "on"), "%s: operator %s\n", user.Email, args[1])
			})
		},
	}
}
