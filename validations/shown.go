package validations

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const (
	// shortID is the length of a short id: its last characters, which are random.
	shortID = 8
	// shortKey is the length of a short key.
	shortKey = 40
	// unnamed replaces the name of a document without one.
	unnamed = "document"
)

// Pill shows the state or the result of a run. An error of the platform looks different from a failed document.
func (r Run) Pill() pages.Pill {
	if r.State == api.RunStatePending {
		return pages.NewPill("idle", "Waiting")
	}
	if r.State == api.RunStateRunning {
		return pages.NewPill("run", "Running")
	}
	switch r.Result {
	case api.RunResultPass:
		if r.WarningCount > 0 {
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
func (r Run) Sign() string {
	switch {
	case r.State != api.RunStateCompleted:
		return "◔"
	case r.Result == api.RunResultFail:
		return "✗ " + pages.Number(r.ErrorCount)
	case r.Result == api.RunResultPass && r.WarningCount > 0:
		return "! " + pages.Number(r.WarningCount)
	case r.Result == api.RunResultPass:
		return "✓"
	case r.Result == api.RunResultCanceled:
		return "–"
	default:
		return "! error"
	}
}

// ShortID shortens an id to its last characters.
func ShortID(id uuid.UUID) string {
	text := id.String()
	return text[len(text)-shortID:]
}

// DocumentName returns the name of a document without control characters, such as those that change the direction of
// text.
func DocumentName(filename string) string {
	if filename == "" {
		return unnamed
	}
	return formats.Clean(filename)
}

// ShortKey shortens a key for a list.
func ShortKey(key string) string {
	if len(key) <= shortKey {
		return key
	}
	return key[:shortKey] + "…"
}

// FindingCount counts all findings of a run, including those that were not stored.
func (r Run) FindingCount() int64 { return r.ErrorCount + r.WarningCount + r.InfoCount }

// Found counts the findings of a run in a few words.
func (r Run) Found() string {
	switch {
	case r.ErrorCount > 0 && r.WarningCount > 0:
		return pages.Counted(r.ErrorCount, "error") + ", " + pages.Counted(r.WarningCount, "warning")
	case r.ErrorCount > 0:
		return pages.Counted(r.ErrorCount, "error")
	case r.WarningCount > 0:
		return pages.Counted(r.WarningCount, "warning")
	case r.Result != api.RunResultPass:
		return ""
	default:
		return "none"
	}
}

// SourceName names where a run was started.
func SourceName(source api.Source) string {
	switch source {
	case api.SourceDashboard:
		return "Dashboard"
	case api.SourceCLI:
		return "Command line"
	default:
		return "API"
	}
}

// SeverityPill shows how grave a finding is, by its color and sign alone.
func SeverityPill(severity engines.Severity) pages.Pill {
	switch severity {
	case engines.SeverityError:
		return pages.NewPill("fail", "")
	case engines.SeverityWarning:
		return pages.NewPill("warn", "")
	default:
		return pages.NewPill("idle", "")
	}
}

// ShownFinding is a finding in a list. Place is "" for one without a line. Address leads to the line, where a page sets
// it.
type ShownFinding struct{ Tone, Sign, Place, Address, Message, Code string }

// NewShownFinding shows a finding with its line.
func NewShownFinding(f engines.Finding) ShownFinding {
	pill := SeverityPill(f.Severity)
	shown := ShownFinding{
		Tone: pill.Tone, Sign: pill.Sign(), Message: formats.Clean(f.Message), Code: formats.Clean(f.Code),
	}
	if f.Line > 0 {
		shown.Place = "Line " + strconv.Itoa(f.Line)
	}
	return shown
}
