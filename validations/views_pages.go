package validations

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// runsPageQuery is the query of the page of runs.
type runsPageQuery struct {
	Cursor string `query:"cursor"`
	RunFilter
}

// filtered reports whether anything narrows the list.
func (q runsPageQuery) filtered() bool {
	return q.RunFilter != RunFilter{}
}

// values are the filters that are set.
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

// formTime is how people write a time, in UTC.
const formTime = "2006-01-02 15:04"

// readTime reads a time as people or programs write it.
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
func (a *App) runsPage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
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
	// Before the list is read, so that a run that comes in between is told.
	newest, err := a.Runs.newest(ctx, principal.OrgID)
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
		view.LookedAt = MaxScanned
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

// runsQuery reads the query also where it is refused, so that the form can show what was entered.
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

// runPage is GET /app/orgs/{org}/runs/{id}/.
func (a *App) runPage(c echo.Context) error {
	return a.showRun(c, http.StatusOK, nil)
}

// showRun answers with the page of a run, with the problem of a form on it.
func (a *App) showRun(c echo.Context, status int, problem *core.Error) error {
	principal, id, err := callerAndRun(c)
	if err != nil {
		return err
	}
	cursor, err := core.PageQuery{Cursor: c.QueryParam("cursor")}.Parse()
	if err != nil {
		return err
	}
	cursor.Size = findingsPerPage
	report, err := a.runReport(c.Request().Context(), principal.OrgID, id, cursor)
	if err != nil {
		return err
	}
	view, err := newRunView(principal, report, cursor, *c.Request().URL, time.Now())
	if err != nil {
		return err
	}
	view.Problem = problem
	return a.pages.Render(c, status, "run", pages.Page{
		Title: view.Title, Section: pages.SectionRuns, Events: view.events, Data: view,
	})
}

// ShowRefused answers a form of a run's page that was refused: with the page and the reason on it, or with the error
// where the page cannot help.
func (a *App) ShowRefused(c echo.Context, err error) error {
	problem := pages.Refusal(err)
	if problem == nil || problem.Code == core.CodeNotFound || problem.Code == core.CodePermissionDenied {
		return err
	}
	return a.showRun(c, pages.RefusalStatus(c, problem), problem)
}

// cancelForm is POST /app/orgs/{org}/runs/{id}/cancel/. What it cannot do any more is told on the run's page.
func (a *App) cancelForm(c echo.Context) error {
	principal, id, err := callerAndRun(c)
	if err != nil {
		return err
	}
	if err := a.cancel(c, principal, id); err != nil {
		return a.ShowRefused(c, err)
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"runs/"+id.String()+"/", "The run is canceled.")
}

// downloadFindings is GET /app/orgs/{org}/runs/{id}/findings/{format}/.
func (a *App) downloadFindings(c echo.Context) error {
	principal, id, err := callerAndRun(c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(downloads(), func(d download) bool { return string(d.Format) == c.Param("format") })
	if i < 0 {
		return core.NotFound("report")
	}
	chosen := downloads()[i]
	report, err := a.report(c.Request().Context(), principal.OrgID, id, chosen.Format)
	if err != nil {
		return err
	}
	name := "run-" + shortened(id) + "-" + string(chosen.Format) + chosen.ending
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.Blob(http.StatusOK, chosen.Format.MediaType(), report)
}
