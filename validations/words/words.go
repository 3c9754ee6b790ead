// Package words says what pages and streams of events show of runs and findings: their results as pills, their counts
// and their names.
package words

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const (
	// shortID is the length of a ID id: its last characters, which are random.
	shortID = 8
	// shortKey is the length of a ID key.
	shortKey = 40
	// unnamed replaces the name of a document without one.
	unnamed = "document"
)

// Pill shows the state or the result of a run. An error of the platform looks different from a failed document.
func Pill(run validations.Run) pages.Pill {
	if run.State == api.RunStatePending {
		return pages.NewPill("idle", "Waiting")
	}
	if run.State == api.RunStateRunning {
		return pages.NewPill("run", "Running")
	}
	switch run.Result {
	case api.RunResultPass:
		if run.WarningCount > 0 {
			return pages.NewPill("warn", "Passed with warnings")
		}
		return pages.NewPill("ok", "Passed")
	case api.RunResultFail:
		return pages.NewPill("fail", "Failed")
	case api.RunResultTimedOut:
		return pages.NewPill("error", "Timed out")
	case api.RunResultCanceled:
		return pages.NewPill("idle", "Canceled")
	default:
		return pages.NewPill("error", "Platform error")
	}
}

// Sign shows the state or the result of a run in the title of its page.
func Sign(run validations.Run) string {
	switch {
	case run.State != api.RunStateCompleted:
		return "◔"
	case run.Result == api.RunResultFail:
		return "✗ " + pages.Number(run.ErrorCount)
	case run.Result == api.RunResultPass && run.WarningCount > 0:
		return "! " + pages.Number(run.WarningCount)
	case run.Result == api.RunResultPass:
		return "✓"
	case run.Result == api.RunResultCanceled:
		return "–"
	default:
		return "! error"
	}
}

// ID shortens an id to its last characters.
func ID(id uuid.UUID) string {
	text := id.String()
	return text[len(text)-shortID:]
}

// Document returns the name of a document without control characters, such as those that change the direction of
// text.
func Document(filename string) string {
	if filename == "" {
		return unnamed
	}
	return formats.Clean(filename)
}

// Key shortens a key for a list.
func Key(key string) string {
	if len(key) <= shortKey {
		return key
	}
	return key[:shortKey] + "…"
}

// Counted formats a number with its noun.
func Counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return pages.Number(n) + " " + noun + "s"
}

// Total counts all findings of a run, including those that were not stored.
func Total(run validations.Run) int64 { return run.ErrorCount + run.WarningCount + run.InfoCount }

// Found counts the findings of a run in a few words.
func Found(run validations.Run) string {
	switch {
	case run.ErrorCount > 0 && run.WarningCount > 0:
		return Counted(run.ErrorCount, "error") + ", " + Counted(run.WarningCount, "warning")
	case run.ErrorCount > 0:
		return Counted(run.ErrorCount, "error")
	case run.WarningCount > 0:
		return Counted(run.WarningCount, "warning")
	case run.Result != api.RunResultPass:
		return ""
	default:
		return "none"
	}
}

// Source names where a run was started.
func Source(source api.Source) string {
	switch source {
	case api.SourceDashboard:
		return "Dashboard"
	case api.SourceCLI:
		return "Command line"
	default:
		return "API"
	}
}

// Severity shows how grave a finding is, by its color and sign alone.
func Severity(severity engines.Severity) pages.Pill {
	switch severity {
	case engines.SeverityError:
		return pages.NewPill("fail", "")
	case engines.SeverityWarning:
		return pages.NewPill("warn", "")
	default:
		return pages.NewPill("idle", "")
	}
}

// Finding is a finding in a list. Place is "" for one without a line. Address leads to the line, where a page sets it.
type Finding struct{ Tone, Sign, Place, Address, Message, Code string }

// NewFinding shows a finding with its line.
func NewFinding(f engines.Finding) Finding {
	pill := Severity(f.Severity)
	shown := Finding{
		Tone: pill.Tone, Sign: pill.Sign(), Message: formats.Clean(f.Message), Code: formats.Clean(f.Code),
	}
	if f.Line > 0 {
		shown.Place = "Line " + strconv.Itoa(f.Line)
	}
	return shown
}
