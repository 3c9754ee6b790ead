package users

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
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

// meBody is the caller: the user, the organization and the role.
type meBody struct {
	ID    uuid.UUID `json:"id"`
	Email string    `json:"email"`
	Name  string    `json:"name"`
	Org   orgBody   `json:"org"`
	Role  core.Role `json:"role"`
	// Token is the id of the token that was used.
	Token uuid.UUID `json:"token"`
}

// meV1Body is the caller as the existing command line client reads it.
type meV1Body struct {
	Email string `json:"email"`
	Name  string `json:"name"`
	// Username is the e-mail address: users have no other name to sign in with.
	Username string `json:"username"`
}

type orgBody struct {
	ID   uuid.UUID `json:"id"`
	Slug string    `json:"slug"`
	Name string    `json:"name"`
}

func renderOrg(principal core.Principal) orgBody {
	return orgBody{ID: principal.OrgID, Slug: principal.OrgSlug, Name: principal.OrgName}
}

// me is GET /api/me/.
func (a *App) me(c echo.Context, principal core.Principal) error {
	return c.JSON(http.StatusOK, meBody{
		ID: principal.UserID, Email: principal.Email, Name: principal.Name, Role: principal.Role,
		Token: principal.TokenID, Org: renderOrg(principal),
	})
}

// meV1 is GET /api/v1/auth/me/.
func (a *App) meV1(c echo.Context, principal core.Principal) error {
	return c.JSON(http.StatusOK, meV1Body{Email: principal.Email, Name: principal.Name, Username: principal.Email})
}

// orgs is GET /api/orgs/. A token is for one organization, so the user's other organizations are not listed.
func (a *App) orgs(c echo.Context, principal core.Principal) error {
	return c.JSON(http.StatusOK, core.Page[orgBody]{Results: []orgBody{renderOrg(principal)}})
}
