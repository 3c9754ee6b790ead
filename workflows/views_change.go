package workflows

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// maxChangeBytes bounds the body of a change.
const maxChangeBytes = 64 << 10

// update is PATCH /api/workflows/{id}/.
func (a *App) update(c echo.Context) error {
	return a.change(c, "workflow.update", func() (change, error) {
		var wanted change
		_, err := core.ReadJSON(c, a.check, maxChangeBytes, &wanted)
		return wanted, err
	})
}

// activate is POST /api/workflows/{id}/activate/.
func (a *App) activate(c echo.Context) error {
	active := true
	return a.change(c, "workflow.activate", func() (change, error) { return change{IsActive: &active}, nil })
}

// deactivate is POST /api/workflows/{id}/deactivate/.
func (a *App) deactivate(c echo.Context) error {
	active := false
	return a.change(c, "workflow.deactivate", func() (change, error) { return change{IsActive: &active}, nil })
}

// change answers with the changed workflow.
func (a *App) change(c echo.Context, action string, read func() (change, error)) error {
	changed, err := a.changed(c, action, read)
	if err != nil {
		return err
	}
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderVersion(changed, principal.OrgSlug))
}

// changed reads what is wanted once the caller is known to be allowed it. Doing it twice is doing it once.
func (a *App) changed(c echo.Context, action string, read func() (change, error)) (Version, error) {
	principal, err := core.Caller(c)
	if err != nil {
		return Version{}, err
	}
	ctx := c.Request().Context()
	workflow, err := a.service.Find(ctx, principal.OrgID, c.Param("id"), 0)
	if err != nil {
		return Version{}, err
	}
	if err := principal.Require(core.RoleAuthor, "edit workflows"); err != nil {
		return Version{}, err
	}
	wanted, err := read()
	if err != nil {
		return Version{}, err
	}
	return a.service.Change(ctx, principal, workflow.ID, wanted, action)
}
