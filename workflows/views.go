package workflows

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
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
	number, err := pinnedVersion(c)
	if err != nil {
		return core.Principal{}, Version{}, err
	}
	found, err := a.service.Find(c.Request().Context(), principal.OrgID, c.Param("id"), number)
	return principal, found, err
}

// pinnedVersion reads ?version=; 0 stands for the latest.
func pinnedVersion(c echo.Context) (int, error) {
	text := c.QueryParam("version")
	if !c.QueryParams().Has("version") {
		return 0, nil
	}
	version, err := strconv.ParseInt(text, 10, 32)
	if err != nil || version < 1 || strconv.FormatInt(version, 10) != text || len(c.QueryParams()["version"]) > 1 {
		return 0, core.InvalidParameter("version", "must be one whole number from 1, written in digits alone")
	}
	return int(version), nil
}
