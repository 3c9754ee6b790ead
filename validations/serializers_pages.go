package validations

import (
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
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
func runPill(run Run) pages.Pill {
	if run.State == StatePending {
		return pages.NewPill("idle", "Waiting")
	}
	if run.State == StateRunning {
		return pages.NewPill("run", "Running")
	}
	switch run.Result {
	case ResultPass:
		if run.WarningCount > 0 {
			return pages.NewPill("warn", "Passed with warnings")
		}
		return pages.NewPill("ok", "Passed")
	case ResultFail:
		return pages.NewPill("fail", "Failed")
	case ResultTimedOut:
		return pages.NewPill("error", "Timed out")
	case ResultCanceled:
		return pages.NewPill("idle", "Canceled")
	default:
		return pages.NewPill("error", "Platform error")
	}
}

// runSign is how a run is, for the title of a page.
func runSign(run Run) string {
	switch {
	case run.State != StateCompleted:
		return "◔"
	case run.Result == ResultFail:
		return "✗ " + pages.Number(run.ErrorCount)
	case run.Result == ResultPass && run.WarningCount > 0:
		return "! " + pages.Number(run.WarningCount)
	case run.Result == ResultPass:
		return "✓"
	case run.Result == ResultCanceled:
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

// listRow is a run in a list.
type listRow struct {
	ID       string
	Address  string
	Pill     pages.Pill
	Filename string
	Workflow string
	Version  int
	// Findings is what was found, in words; "" while that is not known.
	Findings string
	Source   string
	Key      string
	KeyLabel string
	Replays  int64
	// Took is "" before the run has ended.
	Took      string
	CreatedAt time.Time
}

// newListRow shows a run below the address of the organization's pages.
func newListRow(base string, run listedRun) listRow {
	row := listRow{
		ID: run.ID.String(), Address: base + "runs/" + run.ID.String() + "/", Pill: runPill(run.Run),
		Filename: documentName(run.Filename), Workflow: run.WorkflowSlug, Version: run.WorkflowVersion,
		Source: sourceName(run.Source), Key: run.IdempotencyKey, KeyLabel: keyLabel(run.IdempotencyKey),
		Replays: run.Replays, CreatedAt: run.CreatedAt,
	}
	if run.State != StateCompleted {
		return row
	}
	row.Findings = foundIn(run.Run)
	if run.StartedAt != nil && run.EndedAt != nil {
		row.Took = pages.Took(run.EndedAt.Sub(*run.StartedAt))
	}
	return row
}

// foundIn says what a run has found as shortly as it can be said.
func foundIn(run Run) string {
	switch {
	case run.ErrorCount > 0 && run.WarningCount > 0:
		return counted(run.ErrorCount, "error") + ", " + counted(run.WarningCount, "warning")
	case run.ErrorCount > 0:
		return counted(run.ErrorCount, "error")
	case run.WarningCount > 0:
		return counted(run.WarningCount, "warning")
	case run.Result != ResultPass:
		return ""
	default:
		return "none"
	}
}

func sourceName(source Source) string {
	switch source {
	case SourceDashboard:
		return "Dashboard"
	case SourceCLI:
		return "Command line"
	default:
		return "API"
	}
}

// runsView is the list of runs.
type runsView struct {
	core.Page[listRow]
	Filter   filterView
	Filtered bool
	Problem  *core.Error
	// Newest is the address of the list's beginning, for what has come since.
	Newest string
	// First says that no page comes before this one.
	First bool
	// FirstRun is a command that starts a run, for those who have none.
	FirstRun string
	// LookedAt is how many runs were looked at for a page that is not full though there are more of them; 0 for others.
	LookedAt int64
}

// newRunsView shows a page of runs, which has its own address in the links to the next ones.
func newRunsView(base string, query runsPageQuery, page core.Page[listedRun]) runsView {
	return runsView{
		Page:   core.MapPage(page, func(run listedRun) listRow { return newListRow(base, run) }),
		Filter: newFilterView(query), Filtered: query.filtered(), First: query.Cursor == "",
		Newest: base + "runs/?" + query.values().Encode(),
	}
}

// filterView is the form of filters with what is chosen in it.
type filterView struct {
	runsPageQuery

	States, Results, Sources []option
}

// option is a choice of a form.
type option struct {
	Value, Label string
	Chosen       bool
}

func newFilterView(query runsPageQuery) filterView {
	return filterView{
		runsPageQuery: query,
		States: options(query.State, "", "Any state", string(StatePending), "Waiting", string(StateRunning), "Running",
			string(StateCompleted), "Completed"),
		Results: options(query.Result, "", "Any result", string(ResultPass), "Passed", string(ResultFail), "Failed",
			string(ResultError), "Platform error", string(ResultTimedOut), "Timed out",
			string(ResultCanceled), "Canceled"),
		Sources: options(query.Source, "", "Any source", string(SourceAPI), "API",
			string(SourceDashboard), "Dashboard", string(SourceCLI), "Command line"),
	}
}

// options makes choices from pairs of a value and its label.
func options(chosen string, pairs ...string) []option {
	choices := make([]option, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		choices = append(choices, option{Value: pairs[i], Label: pairs[i+1], Chosen: pairs[i] == chosen})
	}
	return choices
}

// runsEvents is the address of what tells a list that there is something new: newer runs, and runs in it that get on.
// An older page of it on which all runs have ended has none.
func runsEvents(base string, query runsPageQuery, newest uuid.UUID, runs []listedRun) string {
	values := query.values()
	if query.Cursor == "" {
		values.Set("runs", newest.String())
	}
	for _, run := range runs {
		if run.State != StateCompleted {
			values.Add("run", seenRun{run.ID, run.Progress()}.String())
		}
	}
	if !values.Has("runs") && !values.Has("run") {
		return ""
	}
	return eventsAddress(base, values)
}

func eventsAddress(base string, values url.Values) string {
	return base + "events/?" + values.Encode()
}

// String is how an address names a run and how far the page shows it to be.
func (s seenRun) String() string {
	return s.id.String() + "." + strconv.Itoa(int(s.progress))
}
