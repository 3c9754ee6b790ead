package workflows

import (
	"math"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	// recentCount is how many results of a workflow are shown one by one.
	recentCount = 20
	// chartDays is how many days of runs a workflow's page shows.
	chartDays = 30
	// shownVersions is how many versions a workflow's page lists.
	shownVersions = 5
)

// workflowsPage is GET /app/orgs/{org}/workflows/.
func (a *App) workflowsPage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	cursor, err := core.BindList(c, a.check, &core.PageQuery{})
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	versions, err := a.service.list(ctx, principal.OrgID, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, versions, idOf, *c.Request().URL)
	ids := make([]uuid.UUID, len(page.Results))
	for i, version := range page.Results {
		ids[i] = version.ID
	}
	results, err := a.runs.RecentResults(ctx, principal.OrgID, ids, recentCount)
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "workflows", pages.Page{
		Title: "Workflows", Section: pages.SectionWorkflows, Data: newWorkflowsPage(principal, page, results),
	})
}

// workflowPage is GET /app/orgs/{org}/workflows/{id}/.
func (a *App) workflowPage(c echo.Context) error {
	principal, version, err := a.versionOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	shown := workflowPage{Version: version, Address: a.address, MaxBytes: a.limits.MaxBytes}
	results, err := a.runs.RecentResults(ctx, principal.OrgID, []uuid.UUID{version.ID}, recentCount)
	if err != nil {
		return err
	}
	shown.Recent = newRecentRuns(results[version.ID])
	if shown.days, err = a.runs.ResultsByDay(ctx, principal.OrgID, version.ID, chartDays); err != nil {
		return err
	}
	if shown.FailingRules, shown.FailedRuns, err = a.runs.FailingRules(ctx, principal.OrgID, version.ID); err != nil {
		return err
	}
	shown.Versions, err = a.service.versions(ctx, principal.OrgID, version.ID, math.MaxInt32, shownVersions)
	if err != nil {
		return err
	}
	if err := shown.complete(principal); err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "workflow", pages.Page{
		Title: version.Name, Section: pages.SectionWorkflows, Data: &shown,
	})
}

// versionsPage is GET /app/orgs/{org}/workflows/{id}/versions/.
func (a *App) versionsPage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	below := math.MaxInt32
	if text := c.QueryParam("below"); text != "" {
		if below, err = strconv.Atoi(text); err != nil || below < 1 || below > math.MaxInt32 {
			return core.InvalidParameter("below", "must be the number of a version")
		}
	}
	ctx := c.Request().Context()
	version, err := a.service.Find(ctx, principal.OrgID, c.Param("id"), 0)
	if err != nil {
		return err
	}
	entries, err := a.service.versions(ctx, principal.OrgID, version.ID, below, versionsAtOnce)
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "versions", pages.Page{
		Title: "Versions of " + version.Name, Section: pages.SectionWorkflows,
		Data: newVersionsPage(version, entries, *c.Request().URL),
	})
}

// versionPage is GET /app/orgs/{org}/workflows/{id}/versions/{number}/.
func (a *App) versionPage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(c.Param("number"), 10, 32)
	if err != nil || number < 1 {
		return core.NotFound("version")
	}
	version, err := a.service.Find(c.Request().Context(), principal.OrgID, c.Param("id"), int(number))
	if err != nil {
		return err
	}
	shown, err := newVersionPage(principal, version, a.address)
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "version", pages.Page{
		Title: version.Name + ", version " + strconv.Itoa(version.Number), Section: pages.SectionWorkflows, Data: shown,
	})
}

// switchTo returns the view of POST /app/orgs/{org}/workflows/{id}/activate/, or of deactivate.
func (a *App) switchTo(active bool, action string) echo.HandlerFunc {
	return func(c echo.Context) error {
		changed, err := a.changed(c, action, func() (change, error) { return change{IsActive: &active}, nil })
		if err != nil {
			return err
		}
		notice := changed.Name + " is inactive now: it starts no new runs."
		if active {
			notice = changed.Name + " is active."
		}
		return pages.Redirect(c, pages.Base(c.Param("org"))+"workflows/"+changed.Slug+"/", notice)
	}
}
