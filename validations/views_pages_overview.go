package validations

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// overviewPage is GET /app/orgs/{org}/. The app of runs has it because it is about runs most of all; what it shows of
// keys, quotas and workflows it asks their owners for.
func (a *App) overviewPage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	// Before the list is read, so that a run that comes in between is told.
	newest, err := a.Runs.newest(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	base := pages.Base(principal.OrgSlug)
	view, err := a.overview(ctx, base, principal.OrgID)
	if err != nil {
		return err
	}
	rows, err := a.latest(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		view.Latest = append(view.Latest, newListRow(base, row))
	}
	if len(rows) == 0 {
		if view.FirstRun, err = a.Workflows.FirstStart(ctx, principal.OrgID, a.Address); err != nil {
			return err
		}
	}
	return a.pages.Render(c, http.StatusOK, "overview", pages.Page{
		Title: view.title(), Section: pages.SectionOverview, Data: view,
		Events: runsEvents(base, runsPageQuery{}, newest, rows),
	})
}

func (a *App) overview(ctx context.Context, base string, orgID uuid.UUID) (overviewView, error) {
	found, err := a.Runs.recent(ctx, orgID)
	if err != nil {
		return overviewView{}, err
	}
	starts, err := a.Keys.Hours(ctx, orgID, found.hours[0].Hour)
	if err != nil {
		return overviewView{}, err
	}
	stuck, err := a.Keys.Stuck(ctx, orgID)
	if err != nil {
		return overviewView{}, err
	}
	usage, err := a.Usage.RunUsage(ctx, orgID)
	if err != nil {
		return overviewView{}, err
	}
	return newOverviewView(base, found, starts, stuck, usage), nil
}

// latest reads the newest runs for the overview's list.
func (a *App) latest(ctx context.Context, orgID uuid.UUID) ([]listedRun, error) {
	runs, err := a.Runs.List(ctx, orgID, RunFilter{}, core.Cursor{Size: latestRuns})
	if err != nil {
		return nil, err
	}
	return a.listed(ctx, orgID, runs[:min(len(runs), latestRuns)])
}
