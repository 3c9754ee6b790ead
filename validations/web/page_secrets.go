package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// secretsForm is POST /app/orgs/{org}/settings/secrets/. It shows the signing secrets, which is audited.
func (a *App) secretsForm(c echo.Context, principal core.Principal) error {
	ctx := c.Request().Context()
	origins, err := a.Runs.ValidatorOrigins(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	secrets, err := a.Signing.Read(ctx, principal, origins)
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusCreated, "secrets", pages.Page{
		Title: "Signing secrets", Section: pages.SectionSettings, Data: secrets,
	})
}

// rotateSecretsForm is POST /app/orgs/{org}/settings/secrets/rotate/.
func (a *App) rotateSecretsForm(c echo.Context, principal core.Principal) error {
	if err := a.Signing.Rotate(c.Request().Context(), principal); err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"settings/",
		"All validators have new signing secrets. Those before them keep working for 24 hours.")
}
