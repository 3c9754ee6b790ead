package account

import (
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// RolesUpTo returns the roles that a member with the role may give, the lowest first.
func RolesUpTo(most, chosen core.Role) []pages.Choice {
	var choices []pages.Choice
	for _, role := range core.Roles() {
		if most.Allows(role) {
			choices = append(choices, pages.Choice{Value: string(role), Text: string(role), Chosen: role == chosen})
		}
	}
	return choices
}
