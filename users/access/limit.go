package access

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
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
	err := core.NewError(api.CodeTooManyTokens, fmt.Sprintf(
		"A member of this organization may have %s. Revoke one that is no longer used, and send the request again.",
		core.Plural(limit, "active token")))
	err.RetryAfter = noExpiry
	if nextExpiry != nil {
		err.RetryAfter = max(*nextExpiry, time.Second)
	}
	return err
}
