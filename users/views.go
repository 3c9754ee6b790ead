package users

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

func (a *App) me(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, meBody{
		ID: principal.UserID, Email: principal.Email, Name: principal.Name, Role: principal.Role,
		Org: orgBody{ID: principal.OrgID, Slug: principal.OrgSlug, Name: principal.OrgName},
	})
}

func (a *App) usage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	usage, err := a.service.RunUsage(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderUsage(usage))
}
