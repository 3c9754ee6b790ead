package web

import (
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

const (
	// shortID is how many characters of an id people need to tell runs apart: the last, which are random.
	shortID = 8
	// shortKey is how much of a key stands in a list.
	shortKey = 40
	// unnamed stands for a document that came without a name.
	unnamed = "document"
)

// runPill says in a word how a run is. What is our fault looks different from what is wrong with the document.
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

// runSign is how a run is, for the title of a page.
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

// documentName is the name of a document as it can stand in a page: nothing in it turns the direction of writing.
func documentName(filename string) string {
	if filename == "" {
		return unnamed
	}
	return formats.Clean(filename)
}

// keyLabel cuts a key to what a list has room for.
func keyLabel(key string) string {
	if len(key) <= shortKey {
		return key
	}
	return key[:shortKey] + "…"
}

// counted writes a number with its noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return pages.Number(n) + " " + noun + "s"
}

// foundIn says what a run has found as shortly as it can be said.
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
