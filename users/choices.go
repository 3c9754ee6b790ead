package users

import (
	"github.com/simplevalidations/simplevalidations/core"
)

// choice is an option of a form.
type choice struct {
	Value, Text string
	Chosen      bool
}

// rolesUpTo returns the roles that a member with the role may give, the lowest first.
func rolesUpTo(most, chosen core.Role) []choice {
	var choices []choice
	for _, role := range core.Roles() {
		if most.Allows(role) {
			choices = append(choices, choice{Value: string(role), Text: string(role), Chosen: role == chosen})
		}
	}
	return choices
}
