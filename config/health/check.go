package health

import (
	"strings"
	"time"
)

// Outcome is the result of a check.
type Outcome string

// The outcomes. A warning does not fail the command.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeWarning Outcome = "warning"
	OutcomeError   Outcome = "error"
	OutcomeSkipped Outcome = "skipped"
)

// Check is something that was looked at. Its id never changes its meaning.
type Check struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail"`
	// Hint says what to do about it.
	Hint string `json:"hint"`
}

// Address is where the documentation explains the check.
func (c Check) Address() string {
	return "/docs/guides/operators/#" + strings.ToLower(c.ID) + "-" + strings.ReplaceAll(c.Name, " ", "-")
}

// MaxSkew is how far two clocks may be apart before doctor warns: times in answers are whole seconds.
const MaxSkew = 5 * time.Second
