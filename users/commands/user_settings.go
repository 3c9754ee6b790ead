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
	setting

	org, role                                                  string
	password, link, operator, factor, unlink, tokens, disabled bool
	linkLife                                                   time.Duration
}

func setUserCommand(open Open) *cobra.Command {
	to := userFlags{linkLife: 24 * time.Hour}
	to.cmd = &cobra.Command{
		Use: "set EMAIL", Short: "Set the password, role, rights and state of a user, or help one to sign in again",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := to.read(args[0]); err != nil {
				return err
			}
			return open.onUser(cmd.Context(), args[0], func(ctx context.Context, s *Service, user account.User) error {
				return to.set(ctx, s, user.Email, user.ID)
			})
		},
	}
	flags := to.cmd.Flags()
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
	to.bind("disabled", "refuse the user's tokens and sessions; =false accepts them again", &to.disabled)
	return to.cmd
}

// read finds the changes that the flags ask for. All flags, and the password, are read before anything is changed.
func (to *userFlags) read(email string) error {
	if err := to.inPairs([2]string{"org", "role"}, [2]string{"disabled", "reason"}); err != nil {
		return err
	}
	if to.given("disabled") {
		state := map[bool]string{true: "disabled", false: "enabled"}[to.disabled]
		to.add(state, func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetDisabled(ctx, id, to.disabled, to.reason)
		})
	}
	if to.given("org") {
		to.add(to.role+" of "+to.org, to.join)
	}
	if to.given("operator") {
		to.add(fmt.Sprintf("operator %t", to.operator), func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SetOperator(ctx, id, to.operator)
		})
	}
	if to.password {
		password, err := readPassword(to.cmd.InOrStdin())
		if err != nil {
			return err
		}
		to.add("password set, sessions ended, tokens as before",
			func(ctx context.Context, s *Service, id uuid.UUID) error {
				return s.Users.SignIn.SetPassword(ctx, id, password)
			})
	}
	if to.link {
		link := to.add("a link to set a password", nil)
		link.apply = func(ctx context.Context, s *Service, _ uuid.UUID) error {
			path, expires, err := s.Users.SignIn.LinkPassword(ctx, email, to.linkLife)
			link.text = fmt.Sprintf("until %s, set a password at\n%s%s", expires.UTC().Format(time.RFC3339),
				s.Users.Address(), path)
			return err
		}
	}
	if to.factor {
		to.add("no second factor", func(ctx context.Context, s *Service, _ uuid.UUID) error {
			return s.Users.Factors.RemoveOf(ctx, email)
		})
	}
	if to.unlink {
		to.add("linked to no provider", func(ctx context.Context, s *Service, _ uuid.UUID) error {
			return s.Users.SignIn.Unlink(ctx, email)
		})
	}
	if to.tokens {
		to.add("tokens revoked", func(ctx context.Context, s *Service, id uuid.UUID) error {
			return s.Users.SignIn.RevokeTokens(ctx, id)
		})
	}
	return to.atLeastOne()
}

func (to *userFlags) join(ctx context.Context, s *Service, id uuid.UUID) error {
	org, err := s.Users.Organization(ctx, to.org)
	if err != nil {
		return err
	}
	return s.Users.SetMembership(ctx, org.ID, id, api.Role(to.role))
}
