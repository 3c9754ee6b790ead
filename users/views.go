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
		Token: principal.TokenID,
		Org:   orgBody{ID: principal.OrgID, Slug: principal.OrgSlug, Name: principal.OrgName},
	})
}

func (a *App) meV1(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, meV1Body{Email: principal.Email, Name: principal.Name, Username: principal.Email})
}

// orgs lists what the token is for, which is one organization: others that its user belongs to are not its concern.
func (a *App) orgs(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	own := orgBody{ID: principal.OrgID, Slug: principal.OrgSlug, Name: principal.OrgName}
	return c.JSON(http.StatusOK, core.Page[orgBody]{Results: []orgBody{own}})
}

func (a *App) usage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	usage, err := a.service.RunUsage(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	counts, err := a.runs.CountRuns(ctx, principal.OrgID, usage.Period)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderUsage(usage, counts))
}
