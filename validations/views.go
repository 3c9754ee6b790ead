package validations

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// runsQuery is the query of the list of runs.
type runsQuery struct {
	core.PageQuery
	RunFilter
}

func (a *App) getRun(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	id, ok := core.ParseID(c.Param("id"))
	if !ok {
		return core.NotFound("run")
	}
	body, err := a.service.show(c.Request().Context(), principal.OrgID, principal.OrgSlug, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, body)
}

func (a *App) listRuns(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	var query runsQuery
	if err := core.BindQuery(c, a.check, &query); err != nil {
		return err
	}
	cursor, err := query.Parse()
	if err != nil {
		return err
	}
	runs, err := a.service.listRuns(c.Request().Context(), principal.OrgID, query.RunFilter, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, runs, idOf, *c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, func(run Run) RunBody { return renderRun(run, principal.OrgSlug) }))
}
