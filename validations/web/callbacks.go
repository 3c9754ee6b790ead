package web

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// SecretBody is the organization's signing secret. Previous is the secret before the last rotation.
type SecretBody struct {
	Secret   string        `json:"secret"`
	Previous core.Optional `json:"previous"`
}

// CallbackBody says whether the validator's answer was the one that counts.
type CallbackBody struct {
	Accepted bool `json:"accepted"`
}

// showSecret is GET /api/signing-secret/.
func (a *App) showSecret(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAuthor, "see the signing secret"); err != nil {
		return err
	}
	secret, err := a.Executor.SigningSecret(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, SecretBody{Secret: secret.Secret, Previous: core.Optional(secret.Previous)})
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
