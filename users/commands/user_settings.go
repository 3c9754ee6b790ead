package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// userFlags are the flags of user set.
type userFlags struct {
	org, role                                        string
	password, link, operator, factor, unlink, tokens bool
	linkLife                                         time.Duration
}

func setUserCommand(open Open) *cobra.Command {
	to := userFlags{linkLife: 24 * time.Hour}
	command := &cobra.Command{
		Use: "set EMAIL", Short: "Set the password, role and rights of a user, or help one to sign in again",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := to.changes(cmd, args[0])
			if err != nil {
				return err
			}
			return open.onUser(cmd.Context(), args[0], func(ctx context.Context, s *Service, user account.User) error {
				return makeChanges(ctx, cmd, s, user.Email, user.ID, changes)
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&to.org, "org", "", "make the user a member of this organization, or change the member's role")
	flags.StringVar(&to.role, "role", "", "owner, admin, author, executor or viewer")
	flags.BoolVar(&to.operator, "operator", false, "give access to the operations page")
	flags.BoolVar(&to.password, "password-stdin", false,
		"read a new password from standard input, and end the user's sessions")
	flags.BoolVar(&to.link, "password-link", false,
		"print a link with which the user sets a password once; if mail is configured, the user gets it, too")
	flags.DurationVar(&to.linkLife, "valid-for", to.linkLife, "how long the link works, from 1h to 72h")
	flags.BoolVar(&to.factor, "remove-second-factor", false,
		"let a user who has lost the authenticator app sign in without it")
	flags.BoolVar(&to.tokens, "revoke-tokens", false, "revoke all tokens of the user, in every organization")
	flags.BoolVar(&to.unlink, "unlink", false, "separate the user from the account at the OpenID Connect provider")
	return command
}

// changes are those that the flags ask for. All flags, and the password, are read before anything is changed.
func (to *userFlags) changes(cmd *cobra.Command, email string) ([]change, error) {
	var all []change
	given, err := isTogether(cmd, "org", "role")
	if err != nil {
		return nil, err
	}
	if given {
		all = append(all, to.join)
	}
	if cmd.Flags().Changed("operator") {
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return fmt.Sprintf("operator %t", to.operator), s.Users.SetOperator(ctx, id, to.operator)
		})
	}
	if to.password {
		password, err := readPassword(cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return "password set, sessions ended, tokens as before", s.Users.SignIn.SetPassword(ctx, id, password)
		})
	}
	if to.link {
		all = append(all, func(ctx context.Context, s *Service, _ uuid.UUID) (string, error) {
			path, expires, err := s.Users.SignIn.LinkPassword(ctx, email, to.linkLife)
			return fmt.Sprintf("until %s, set a password at\n%s%s", expires.UTC().Format(time.RFC3339),
				s.Users.Address(), path), err
		})
	}
	if to.factor {
		all = append(all, func(ctx context.Context, s *Service, _ uuid.UUID) (string, error) {
			return "no second factor", s.Users.Factors.RemoveOf(ctx, email)
		})
	}
	if to.unlink {
		all = append(all, func(ctx context.Context, s *Service, _ uuid.UUID) (string, error) {
			return "linked to no provider", s.Users.SignIn.Unlink(ctx, email)
		})
	}
	if to.tokens {
		all = append(all, func(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
			return "tokens revoked", s.Users.SignIn.RevokeTokens(ctx, id)
		})
	}
	return atLeastOne(cmd, all)
}

func (to *userFlags) join(ctx context.Context, s *Service, id uuid.UUID) (string, error) {
	org, err := s.Users.Organization(ctx, to.org)
	if err != nil {
		return "", err
	}
	return to.role + " of " + org.Slug, s.Users.SetMembership(ctx, org.ID, id, api.Role(to.role))
}
