package web

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// showSecrets is GET /api/signing-secrets/.
func (a *App) showSecrets(c echo.Context, principal core.Principal) error {
	secrets, err := a.readSecrets(c.Request().Context(), principal)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, api.SigningSecrets{Validators: secrets})
}

// secretsForm is POST /app/orgs/{org}/settings/secrets/.
func (a *App) secretsForm(c echo.Context, principal core.Principal) error {
	secrets, err := a.readSecrets(c.Request().Context(), principal)
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusCreated, "secrets", pages.Page{
		Title: "Signing secrets", Section: pages.SectionSettings, Data: secrets,
	})
}

// readSecrets reads the secrets of all validators that are called, which is audited.
func (a *App) readSecrets(ctx context.Context, principal core.Principal) ([]api.SigningSecret, error) {
	origins, err := a.Runs.ValidatorOrigins(ctx, principal.OrgID)
	if err != nil {
		return nil, err
	}
	return a.Signing.Read(ctx, principal, origins)
}

// rotateSecretsForm is POST /app/orgs/{org}/settings/secrets/rotate/.
func (a *App) rotateSecretsForm(c echo.Context, principal core.Principal) error {
	if err := a.Signing.Rotate(c.Request().Context(), principal); err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"settings/",
		"All validators have new signing secrets. Those before them keep working for 24 hours.")
}

// acceptCallback is POST /api/callbacks/{id}/. It needs no token: the body is signed.
func (a *App) acceptCallback(c echo.Context) error {
	// Limiters count by id, so the peer's address is hashed to one.
	peer := uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.RealIP()))
	if err := core.Admit(c, a.Callbacks, peer, "This address sends too many callbacks."); err != nil {
		return err
	}
	ctx, signature := c.Request().Context(), c.Request().Header.Get(core.HeaderSignature)
	accepted, err := a.Executor.AcceptCallback(ctx, c.Param("id"), signature, func() ([]byte, error) {
		return core.ReadBody(c, engines.MaxAnswerBytes, echo.MIMEApplicationJSON)
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.CallbackReceipt{Accepted: accepted})
}
