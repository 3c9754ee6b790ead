package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
)

// runsPageQuery is the query of the page of runs.
type runsPageQuery struct {
	Cursor string `query:"cursor"`
	validations.RunFilter
}

// filtered reports whether a filter is set.
func (q runsPageQuery) filtered() bool {
	return q.RunFilter != validations.RunFilter{}
}

// values encodes the filters that are set.
func (q runsPageQuery) values() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{
		"state": q.State, "result": q.Result, "source": q.Source, "workflow": q.Workflow,
		"idempotency_key": q.IdempotencyKey, "since": q.Since, "until": q.Until,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// formTime is the layout of times in the form, in UTC.
const formTime = "2006-01-02 15:04"

// readTime reads a time in any of the layouts that people and programs use.
func readTime(name, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	for _, layout := range []string{
		formTime, time.DateTime, time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339,
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format(time.RFC3339), nil
		}
	}
	return text, core.InvalidParameter(name, "must be a day or a time like 2026-03-01 09:30, in UTC")
}

// SinceField is Since as the form shows it.
func (q runsPageQuery) SinceField() string { return withoutZone(q.Since) }

// UntilField is Until as the form shows it.
func (q runsPageQuery) UntilField() string { return withoutZone(q.Until) }

func withoutZone(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC().Format(formTime)
	}
	return text
}

// runsPage is GET /app/orgs/{org}/runs/.
func (a *App) runsPage(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.runsQuery(c)
	base := pages.Base(principal.OrgSlug)
	if refusal := pages.Refusal(err); refusal != nil {
		view := newRunsView(base, query, core.Page[listedRun]{})
		view.Problem = refusal
		return a.pages.Render(c, pages.RefusalStatus(c, refusal), "runs",
			pages.Page{Title: "Runs", Section: pages.SectionRuns, Data: view})
	}
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	// The newest run is read before the list, so that a run created in between is announced as new.
	newest, err := a.Runs.Newest(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	found, err := a.Runs.ListFiltered(ctx, a.Keys, principal.OrgID, query.RunFilter, cursor)
	if err != nil {
		return err
	}
	rows, err := a.listed(ctx, principal.OrgID, found.Runs)
	if err != nil {
		return err
	}
	address := *c.Request().URL
	page := core.NewPage(cursor, rows, func(run listedRun) uuid.UUID { return run.ID }, address)
	view := newRunsView(base, query, page.GoesOn(cursor, found.Stopped, address))
	if found.Stopped != uuid.Nil {
		view.Scanned = validations.MaxScanned
	}
	if len(rows) == 0 {
		if view.FirstRun, err = a.Workflows.FirstStart(ctx, principal.OrgID, a.Address); err != nil {
			return err
		}
	}
	return a.pages.Render(c, http.StatusOK, "runs", pages.Page{
		Title: "Runs", Section: pages.SectionRuns, Events: runsEvents(base, query, newest, page.Results),
		Data: view,
	})
}

// runsQuery returns the query even if it is refused, so that the form can show what was entered.
func (a *App) runsQuery(c echo.Context) (runsPageQuery, core.Cursor, error) {
	var query runsPageQuery
	if err := (&echo.DefaultBinder{}).BindQueryParams(c, &query); err != nil {
		return query, core.Cursor{}, core.InvalidParameter("query", "cannot be read").Because(err)
	}
	query.Workflow, query.IdempotencyKey = strings.TrimSpace(query.Workflow), strings.TrimSpace(query.IdempotencyKey)
	var err error
	if query.Since, err = readTime("since", strings.TrimSpace(query.Since)); err != nil {
		return query, core.Cursor{}, err
	}
	if query.Until, err = readTime("until", strings.TrimSpace(query.Until)); err != nil {
		return query, core.Cursor{}, err
	}
	if err := a.Validator.Query(&query); err != nil {
		return query, core.Cursor{}, err
	}
	cursor, err := core.PageQuery{Cursor: query.Cursor}.Parse()
	return query, cursor, err
}

// listedRun is a run with the name of its document and the number of its replays.
type listedRun struct {
	validations.Run
	Filename string
	Replays  int64
}

// listed reads the names of the documents and the replays of the runs.
func (a *App) listed(ctx context.Context, orgID uuid.UUID, runs []validations.Run) ([]listedRun, error) {
	submissions := make([]uuid.UUID, len(runs))
	var keys []uuid.UUID
	for i, run := range runs {
		submissions[i] = run.SubmissionID
		if run.IdempotencyKeyID != nil {
			keys = append(keys, *run.IdempotencyKeyID)
		}
	}
	names, err := a.Runs.Filenames(ctx, orgID, submissions)
	if err != nil {
		return nil, err
	}
	replays, err := a.Keys.Replays(ctx, orgID, keys)
	if err != nil {
		return nil, err
	}
	rows := make([]listedRun, len(runs))
	for i, run := range runs {
		rows[i] = listedRun{Run: run, Filename: names[run.SubmissionID]}
		if run.IdempotencyKeyID != nil {
			rows[i].Replays = replays[*run.IdempotencyKeyID]
		}
	}
	return rows, nil
}

// listRow is a run in a list.
type listRow struct {
	ID       string
	Address  string
	Pill     pages.Pill
	Filename string
	Workflow string
	Version  int
	// Findings counts the findings in words; "" before the run has ended.
	Findings string
	Source   string
	Key      string
	KeyLabel string
	Replays  int64
	// Took is "" before the run has ended.
	Took      string
	CreatedAt time.Time
}

// newListRow makes the row of a run. base is the path of the organization's pages.
func newListRow(base string, run listedRun) listRow {
	row := listRow{
		ID: run.ID.String(), Address: base + "runs/" + run.ID.String() + "/", Pill: runPill(run.Run),
		Filename: documentName(run.Filename), Workflow: run.WorkflowSlug, Version: run.WorkflowVersion,
		Source: sourceName(run.Source), Key: run.IdempotencyKey, KeyLabel: keyLabel(run.IdempotencyKey),
		Replays: run.Replays, CreatedAt: run.CreatedAt,
	}
	if run.State != validations.StateCompleted {
		return row
	}
	row.Findings = foundIn(run.Run)
	if run.StartedAt != nil && run.EndedAt != nil {
		row.Took = pages.Took(run.EndedAt.Sub(*run.StartedAt))
	}
	return row
}

// runsView is the list of runs.
type runsView struct {
	core.Page[listRow]
	Filter   filterView
	Filtered bool
	Problem  *core.Error
	// Newest links to the first page of the list.
	Newest string
	// First is set on the first page.
	First bool
	// FirstRun is a command that starts a run, for an organization without runs.
	FirstRun string
	// Scanned is how many runs were scanned for a page that is not full although older runs are left to scan; 0 for
	// every other page.
	Scanned int64
}

// newRunsView makes a page of the list.
func newRunsView(base string, query runsPageQuery, page core.Page[listedRun]) runsView {
	return runsView{
		Page:   core.MapPage(page, func(run listedRun) listRow { return newListRow(base, run) }),
		Filter: newFilterView(query), Filtered: query.filtered(), First: query.Cursor == "",
		Newest: base + "runs/?" + query.values().Encode(),
	}
}

// filterView is the form of the filters with the current choices.
type filterView struct {
	runsPageQuery

	States, Results, Sources []option
}

// option is an option of a select.
type option struct {
	Value, Label string
	Chosen       bool
}

func newFilterView(query runsPageQuery) filterView {
	return filterView{
		runsPageQuery: query,
		States: options(query.State, "", "Any state", string(validations.StatePending), "Waiting",
			string(validations.StateRunning), "Running", string(validations.StateCompleted), "Completed"),
		Results: options(query.Result, "", "Any result", string(validations.ResultPass), "Passed",
			string(validations.ResultFail), "Failed", string(validations.ResultError), "Platform error",
			string(validations.ResultTimedOut), "Timed out", string(validations.ResultCanceled), "Canceled"),
		Sources: options(query.Source, "", "Any source", string(validations.SourceAPI), "API",
			string(validations.SourceDashboard), "Dashboard", string(validations.SourceCLI), "Command line"),
	}
}

// options makes options from pairs of a value and its label.
func options(chosen string, pairs ...string) []option {
	choices := make([]option, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		choices = append(choices, option{Value: pairs[i], Label: pairs[i+1], Chosen: pairs[i] == chosen})
	}
	return choices
}

// runsEvents returns the URL of the events of a list: newer runs, and the progress of the runs on the page. It returns
// "" for an older page on which all runs have ended, because it cannot change.
func runsEvents(base string, query runsPageQuery, newest uuid.UUID, runs []listedRun) string {
	values := query.values()
	if query.Cursor == "" {
		values.Set("runs", newest.String())
	}
	for _, run := range runs {
		if run.State != validations.StateCompleted {
			values.Add("run", shownRun{run.ID, run.Progress()}.String())
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
