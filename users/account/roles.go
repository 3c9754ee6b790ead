package account

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// RolesUpTo returns the roles that a member with the role may give, the lowest first.
func RolesUpTo(most, chosen api.Role) []pages.Choice {
	var choices []pages.Choice
	for _, role := range api.Roles() {
		if most.Allows(role) {
			choices = append(choices, pages.Choice{Value: string(role), Text: string(role), Chosen: role == chosen})
		}
	}
	return choices
}

// Administered is SQL that holds where a user, its parameter, administers the user of the row u: in each organization
// of u, of which there is one at least. No administrator administers an operator of the installation.
const Administered = `(NOT u.is_operator AND EXISTS (SELECT FROM memberships AS m WHERE m.user_id = u.id)
	AND NOT EXISTS (
		SELECT FROM memberships AS m WHERE m.user_id = u.id AND NOT EXISTS (
			SELECT FROM memberships AS a WHERE a.org_id = m.org_id AND a.user_id = ?
				AND (a.role = 'owner' OR (a.role = 'admin' AND m.role <> 'owner')))))`

// LacksFactor is SQL that holds where the organization of the row o requires a second factor, and the user of the row u
// has none. Whoever lacks it may do nothing in the organization.
const LacksFactor = `(o.second_factor_required AND NOT EXISTS (
	SELECT FROM second_factors AS f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL))`

// IsMoving is SQL that holds where the organization of the row o is on its way between two cells, and nothing may be
// started or changed.
const IsMoving = `(coalesce(o.moving_until > now(), false) OR o.moved_to IS NOT NULL OR o.import_digest IS NOT NULL)`

// FactorRequired answers somebody who may do nothing in an organization for want of a second factor.
func FactorRequired(orgName string) *core.Error {
	return core.NewError(api.CodeSecondFactorRequired,
		orgName+" requires a second factor. Set up an authenticator app on the page of your account.")
}

// AdministersAll reports whether one user may take over the account of another: whether everything that the account may
// do is in organizations that the first user manages.
func AdministersAll(ctx context.Context, tx db.GormTx, adminID, userID uuid.UUID) (bool, error) {
	var found int64
	err := tx.Gorm(ctx).Table("users AS u").Where("u.id = ?", userID).Where(Administered, adminID).Count(&found).Error
	if err != nil {
		return false, fmt.Errorf("look who administers user %s: %w", userID, err)
	}
	return found > 0, nil
}
