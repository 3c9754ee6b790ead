package users

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
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

// meV1Body is the caller as the existing command line client reads it.
type meV1Body struct {
	Email string `json:"email"`
	Name  string `json:"name"`
	// Username is the e-mail address: users have no other name to sign in with.
	Username string `json:"username"`
}

func renderOrg(principal core.Principal) api.Organization {
	return api.Organization{ID: principal.OrgID.String(), Slug: principal.OrgSlug, Name: principal.OrgName}
}

// me is GET /api/me/.
func (a *App) me(c echo.Context, principal core.Principal) error {
	return c.JSON(http.StatusOK, api.Me{
		ID: principal.UserID.String(), Email: principal.Email, Name: principal.Name, Role: principal.Role,
		Token: principal.TokenID.String(), Org: renderOrg(principal),
	})
}

// meV1 is GET /api/v1/auth/me/.
func (a *App) meV1(c echo.Context, principal core.Principal) error {
	return c.JSON(http.StatusOK, meV1Body{Email: principal.Email, Name: principal.Name, Username: principal.Email})
}

// orgs is GET /api/orgs/. A token is for one organization, so the user's other organizations are not listed.
func (a *App) orgs(c echo.Context, principal core.Principal) error {
	return c.JSON(http.StatusOK, api.Page[api.Organization]{Results: []api.Organization{renderOrg(principal)}})
}
