package users

import (
	"github.com/simplevalidations/simplevalidations/core"
)

// choice is an option of a form.
type choice struct {
	Value, Text string
	Chosen      bool
}

// rolesUpTo are the roles that somebody may give, the least first.
func rolesUpTo(most, chosen core.Role) []choice {
	var choices []choice
	for _, role := range core.Roles() {
		if most.Allows(role) {
			choices = append(choices, choice{Value: string(role), Text: string(role), Chosen: role == chosen})
		}
	}
	return choices
}
