package workflows

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/workflows/start"
)

func (a *App) read(c echo.Context) error {
	principal, found, err := a.versionOf(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderVersion(found, principal.OrgSlug))
}

func (a *App) list(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	cursor, err := core.BindList(c, a.check, &core.PageQuery{})
	if err != nil {
		return err
	}
	versions, err := a.service.list(c.Request().Context(), principal.OrgID, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, versions, idOf, *c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, func(v Version) workflowBody {
		return renderVersion(v, principal.OrgSlug)
	}))
}

// versionOf returns the caller and the version of a workflow that the request names.
func (a *App) versionOf(c echo.Context) (core.Principal, Version, error) {
	principal, err := core.Caller(c)
	if err != nil {
		return core.Principal{}, Version{}, err
	}
	number, err := start.VersionNumber(c)
	if err != nil {
		return core.Principal{}, Version{}, err
	}
	found, err := a.service.Find(c.Request().Context(), principal.OrgID, c.Param("id"), number)
	return principal, found, err
}
