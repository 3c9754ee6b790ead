package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/progress"
)

// runsPageQuery is the query of the page of runs.
type runsPageQuery struct {
	Cursor string `query:"cursor"`
	pages.PeriodQuery
	validations.RunFilter
}

// Parse reads the cursor. The page has no other parameter of pages.
func (q runsPageQuery) Parse() (core.Cursor, error) { return core.PageQuery{Cursor: q.Cursor}.Parse() }

// values encodes the filters that are set, for links.
func (q runsPageQuery) values() url.Values {
	values := q.filters()
	values.Del("since")
	q.Values(values, q.Since, q.Until)
	return values
}

// filters encodes the filters as of now: a period as the time at which it begins.
func (q runsPageQuery) filters() url.Values {
	return pages.LinkValues(map[string]string{
		"state": q.State, "result": q.Result, "source": q.Source, "workflow": q.Workflow, "q": q.Search,
		"idempotency_key": q.IdempotencyKey, "since": q.Since, "until": q.Until,
	})
}

// runsPage is GET /app/orgs/{org}/runs/.
func (a *App) runsPage(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.runsQuery(c)
	base := pages.Base(principal.OrgSlug)
	ctx := c.Request().Context()
	names, nameErr := a.Workflows.Names(ctx, principal.OrgID)
	if nameErr != nil {
		return nameErr
	}
	if refusal := pages.Refusal(err); refusal != nil {
		view := newRunsView(principal, query, names, api.Page[listedRun]{})
		view.Problem = refusal
		return a.pages.Render(c, pages.RefusalStatus(c, refusal), "runs",
			pages.Page{Title: "Runs", Section: pages.SectionRuns, Data: view})
	}
	if err != nil {
		return err
	}
	// The newest run is read before the list, so that a run created in between is announced as new.
	newest, err := a.Runs.Newest(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	found, err := a.Runs.ListFiltered(ctx, a.Keys, principal.OrgID, query.RunFilter, cursor)
	if err != nil {
		return err
	}
	rows, err := a.listed(ctx, principal.OrgID, found.Found)
	if err != nil {
		return err
	}
	address := *c.Request().URL
	page := core.NewPage(cursor, rows, found.Stopped, func(run listedRun) uuid.UUID { return run.ID }, address)
	view := newRunsView(principal, query, names, page)
	if found.Stopped != uuid.Nil {
		view.Scanned = core.MaxScanned
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
	cursor, err := pages.ReadQuery(c, a.Validator, &query, &query.Since, &query.Until,
		&query.Workflow, &query.IdempotencyKey, &query.Search)
	return query, cursor, err
}

// keyUse says whether a run's key still has a page, and how often it was replayed.
type keyUse struct {
	KeyKept bool
	Replays int64
}

// newKeyUse finds the use of a run's key among the replays of keys.
func newKeyUse(run validations.Run, replays map[uuid.UUID]int64) keyUse {
	if run.IdempotencyKeyID == nil {
		return keyUse{}
	}
	n, kept := replays[*run.IdempotencyKeyID]
	return keyUse{kept, n}
}

// listedRun is a run with the name of its document and the use of its key.
type listedRun struct {
	validations.Run
	keyUse

	Filename string
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
		rows[i] = listedRun{Run: run, keyUse: newKeyUse(run, replays), Filename: names[run.SubmissionID]}
	}
	return rows, nil
}

// listRow is a run in a list.
type listRow struct {
	listedRun

	Address string
	Pill    pages.Pill
	// Findings counts the findings in words; "" before the run has ended.
	Findings string
	KeyLabel string
	// KeyAddress is the page of the key; "" if the key is no longer kept.
	KeyAddress string
	// Selectable is set if the visitor may rerun or cancel the run together with others.
	Selectable bool
	// Took is "" before the run has ended.
	Took string
}

// newListRow makes the row of a run. base is the path of the organization's pages.
func newListRow(base string, run listedRun) listRow {
	row := listRow{
		listedRun: run, Address: base + "runs/" + run.ID.String() + "/", Pill: run.Pill(),
		KeyLabel: validations.ShortKey(run.IdempotencyKey),
	}
	row.Filename = validations.DocumentName(run.Filename)
	if run.KeyKept {
		row.KeyAddress = base + "keys/" + run.IdempotencyKeyID.String() + "/"
	}
	if run.State != api.RunStateCompleted {
		return row
	}
	row.Findings = run.Found()
	if row.Pill.Tone == "warn" {
		// The row has the number of warnings as well, and no room to say it twice.
		row.Pill.Text = "Passed"
	}
	if run.StartedAt != nil && run.EndedAt != nil {
		row.Took = pages.Took(run.EndedAt.Sub(*run.StartedAt))
	}
	return row
}

// runsView is the list of runs.
type runsView struct {
	api.Page[listRow]
	Filter   filterView
	Filtered bool
	Problem  *core.Error
	// Newest links to the first page of the list.
	Newest string
	// Export is a CSV file of the list.
	Export string
	// Selects is set if runs can be selected.
	Selects bool
	// First is set on the first page.
	First bool
	// FirstRun is a command that starts a run, for an organization without runs.
	FirstRun string
	// Scanned is how many runs were scanned for a page that is not full although older runs are left to scan; 0 for
	// every other page.
	Scanned int64
}

// newRunsView makes a page of the list. Those who may do something with runs can select them.
func newRunsView(
	principal core.Principal, query runsPageQuery, names []validations.WorkflowName, page api.Page[listedRun],
) runsView {
	base, mayAct := pages.Base(principal.OrgSlug), principal.Role.Allows(api.RoleExecutor)
	return runsView{
		Page: core.MapPage(page, func(run listedRun) listRow {
			row := newListRow(base, run)
			row.Selectable = mayAct
			return row
		}),
		Filter: newFilterView(query, names), Filtered: query.RunFilter != validations.RunFilter{},
		First: query.Cursor == "", Selects: mayAct && len(page.Results) > 0,
		Newest: base + "runs/?" + query.values().Encode(), Export: base + "export-runs/?" + query.values().Encode(),
	}
}

// runsEvents returns the URL of the events of a list: newer runs, and the progress of the runs on the page. It returns
// "" for an older page on which all runs have ended, because it cannot change.
func runsEvents(base string, query runsPageQuery, newest uuid.UUID, runs []listedRun) string {
	values := query.filters()
	if query.Cursor == "" {
		values.Set("runs", newest.String())
	}
	for _, run := range runs {
		if run.State != api.RunStateCompleted {
			values.Add("run", progress.ShownRun{ID: run.ID, Progress: run.Progress()}.String())
		}
	}
	if !values.Has("runs") && !values.Has("run") {
		return ""
	}
	return progress.PageAddress(base, values)
}
