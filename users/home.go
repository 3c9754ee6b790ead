package users

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

// home is GET /app/: the organization that the visitor used last.
func (a *App) home(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if visitor.Home == "" {
		return a.pages.Render(c, http.StatusOK, "no_organization", pages.Page{Title: "No organization"})
	}
	return c.Redirect(http.StatusSeeOther, pages.Base(visitor.Home))
}

// tokensOfHome is GET /app/users/api-key/, where the existing command line client sends its users for a token.
func (a *App) tokensOfHome(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if visitor.Home == "" {
		return a.home(c)
	}
	return c.Redirect(http.StatusSeeOther, pages.Base(visitor.Home)+"tokens/")
}
