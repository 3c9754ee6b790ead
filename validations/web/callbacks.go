package web

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// showSecrets is GET /api/signing-secrets/.
func (a *App) showSecrets(c echo.Context, principal core.Principal) error {
	ctx := c.Request().Context()
	origins, err := a.Runs.ValidatorOrigins(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	secrets, err := a.Signing.Read(ctx, principal, origins)
	if err != nil {
		return err
	}
	body := api.SigningSecrets{Validators: make([]api.SigningSecret, len(secrets))}
	for i, secret := range secrets {
		body.Validators[i] = api.SigningSecret{
			Origin: secret.Origin, Secret: secret.Secret, Previous: api.Optional(secret.Previous),
		}
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, body)
}

// acceptCallback is POST /api/callbacks/{id}/. It needs no token: the body is signed.
func (a *App) acceptCallback(c echo.Context) error {
	// Limiters count by id, so the peer's address is hashed to one.
	peer := uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.RealIP()))
	allowance := a.Callbacks.Allow(peer)
	allowance.Announce(c.Response().Header())
	if !allowance.Allowed() {
		return core.RateLimited("This address sends too many callbacks.", allowance.Wait)
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
