package web

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// SecretsBody lists the secrets of the external validators that the organization's workflows call.
type SecretsBody struct {
	Validators []SecretBody `json:"validators"`
}

// SecretBody is the secret of the validator at an origin. Previous is the secret before the last rotation.
type SecretBody struct {
	Origin   string        `json:"origin"`
	Secret   string        `json:"secret"`
	Previous core.Optional `json:"previous"`
}

// CallbackBody says whether the validator's answer was the one that counts.
type CallbackBody struct {
	Accepted bool `json:"accepted"`
}

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
	body := SecretsBody{Validators: make([]SecretBody, len(secrets))}
	for i, secret := range secrets {
		body.Validators[i] = SecretBody{secret.Origin, secret.Secret, core.Optional(secret.Previous)}
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
	return c.JSON(http.StatusOK, CallbackBody{Accepted: accepted})
}
