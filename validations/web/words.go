package web

import (
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const (
	// shortID is the length of a shortened id: its last characters, which are random.
	shortID = 8
	// shortKey is the length of a shortened key.
	shortKey = 40
	// unnamed replaces the name of a document without one.
	unnamed = "document"
)

// runPill shows the state or the result of a run. An error of the platform looks different from a failed document.
func runPill(run validations.Run) pages.Pill {
	if run.State == validations.StatePending {
		return pages.NewPill("idle", "Waiting")
	}
	if run.State == validations.StateRunning {
		return pages.NewPill("run", "Running")
	}
	switch run.Result {
	case validations.ResultPass:
		if run.WarningCount > 0 {
			return pages.NewPill("warn", "Passed with warnings")
		}
		return pages.NewPill("ok", "Passed")
	case validations.ResultFail:
		return pages.NewPill("fail", "Failed")
	case validations.ResultTimedOut:
		return pages.NewPill("error", "Timed out")
	case validations.ResultCanceled:
		return pages.NewPill("idle", "Canceled")
	default:
		return pages.NewPill("error", "Platform error")
	}
}

// runSign shows the state or the result of a run in the title of its page.
func runSign(run validations.Run) string {
	switch {
	case run.State != validations.StateCompleted:
		return "◔"
	case run.Result == validations.ResultFail:
		return "✗ " + pages.Number(run.ErrorCount)
	case run.Result == validations.ResultPass && run.WarningCount > 0:
		return "! " + pages.Number(run.WarningCount)
	case run.Result == validations.ResultPass:
		return "✓"
	case run.Result == validations.ResultCanceled:
		return "–"
	default:
		return "! error"
	}
}

func shortened(id uuid.UUID) string {
	text := id.String()
	return text[len(text)-shortID:]
}

// documentName returns the name of a document without control characters, such as those that change the direction of
// text.
func documentName(filename string) string {
	if filename == "" {
		return unnamed
	}
	return formats.Clean(filename)
}

// keyLabel shortens a key for a list.
func keyLabel(key string) string {
	if len(key) <= shortKey {
		return key
	}
	return key[:shortKey] + "…"
}

// counted formats a number with its noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return pages.Number(n) + " " + noun + "s"
}

// foundIn counts the findings of a run in a few words.
func foundIn(run validations.Run) string {
	switch {
	case run.ErrorCount > 0 && run.WarningCount > 0:
		return counted(run.ErrorCount, "error") + ", " + counted(run.WarningCount, "warning")
	case run.ErrorCount > 0:
		return counted(run.ErrorCount, "error")
	case run.WarningCount > 0:
		return counted(run.WarningCount, "warning")
	case run.Result != validations.ResultPass:
		return ""
	default:
		return "none"
	}
}

func sourceName(source validations.Source) string {
	switch source {
	case validations.SourceDashboard:
		return "Dashboard"
	case validations.SourceCLI:
		return "Command line"
	default:
		return "API"
	}
}
