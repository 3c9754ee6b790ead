package health

import (
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/pages"
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

// Pill shows the outcome on the page.
func (c Check) Pill() pages.Pill {
	switch c.Outcome {
	case OutcomeOK:
		return pages.NewPill("ok", "OK")
	case OutcomeWarning:
		return pages.NewPill("warn", "Warning")
	case OutcomeError:
		return pages.NewPill("fail", "Error")
	case OutcomeSkipped:
	}
	return pages.NewPill("idle", "Skipped")
}

// MaxSkew is how far two clocks may be apart before doctor warns: times in answers are whole seconds.
const MaxSkew = 5 * time.Second
