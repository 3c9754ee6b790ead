package users

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// noExpiry is the Retry-After for a member whose tokens do not expire.
const noExpiry = 24 * time.Hour

// withinTokenLimit issues a token unless its user then has more active ones than the organization allows. The tokens of
// one member are issued one after the other, so that two at once do not both take the last place. A rotation counts the
// old token while it still works.
func withinTokenLimit(
	ctx context.Context, tx db.Tx, orgID, userID uuid.UUID, issue func() (issuedToken, error),
) (issuedToken, error) {
	limit, err := lockTokenLimit(ctx, tx, orgID, userID)
	if err != nil {
		return issuedToken{}, err
	}
	issued, err := issue()
	if err != nil {
		return issuedToken{}, err
	}
	active, nextExpiry, err := countTokens(ctx, tx, orgID, userID, issued.ID)
	if err != nil {
		return issuedToken{}, err
	}
	if active > limit {
		return issuedToken{}, tooManyTokens(limit, nextExpiry)
	}
	return issued, nil
}

func tooManyTokens(limit int, nextExpiry *time.Duration) error {
	err := core.NewError(core.CodeTooManyTokens, fmt.Sprintf(
		"A member of this organization may have %s. Revoke one that is no longer used, and send the request again.",
		core.Plural(limit, "active token")))
	err.RetryAfter = noExpiry
	if nextExpiry != nil {
		err.RetryAfter = max(*nextExpiry, time.Second)
	}
	return err
}

// SetTokenLimit sets how many active tokens each member may have, from the next token on. Existing tokens stay.
func (s *Service) SetTokenLimit(ctx context.Context, orgID uuid.UUID, limit int) error {
	err := s.setColumns(ctx, orgID, "organization.set_tokens", describeTokenLimit(limit),
		map[string]any{"max_tokens": limit})
	if db.ViolatedConstraint(err) == "ck_organizations_max_tokens" {
		return core.InvalidPayload("A member may have from 1 to 10000 active tokens.")
	}
	return err
}

func describeTokenLimit(limit int) string {
	return core.Plural(limit, "active token") + " for each member"
}

func setTokensCommand(open Open) *cobra.Command {
	return &cobra.Command{
		Use: "set-tokens SLUG NUMBER", Short: "Set how many active tokens each member may have",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil {
				return core.InvalidParameter("the number of tokens", fmt.Sprintf("is from 1 to 10000, not %q", args[1]))
			}
			return open(cmd.Context(), func(ctx context.Context, s *Service) error {
				org, err := s.Organization(ctx, args[0])
				if err != nil {
					return err
				}
				return say(cmd, s.SetTokenLimit(ctx, org.ID, int(limit)), "%s: %s\n", org.Slug,
					describeTokenLimit(int(limit)))
			})
		},
	}
}
