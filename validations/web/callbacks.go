package web

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// SecretBody is the organization's signing secret as its authors see it. Previous is the one before the last rotation.
type SecretBody struct {
	Secret   string        `json:"secret"`
	Previous core.Optional `json:"previous"`
}

// CallbackBody tells a validator whether its answer counts.
type CallbackBody struct {
	Accepted bool `json:"accepted"`
}

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

func (a *App) acceptCallback(c echo.Context) error {
	// The limit knows ids; what is made of the peer's address is one.
	peer := uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.RealIP()))
	allowance := a.Callbacks.Allow(peer)
	allowance.Announce(c.Response().Header())
	if !allowance.Allowed() {
		return core.RateLimited("This address sends too many callbacks.", allowance.Wait)
	}
	receipt, ok := core.ParseID(c.Param("id"))
	if !ok {
		return core.NewError(core.CodeNotFound, "There is no such receipt.")
	}
	ctx := c.Request().Context()
	signature := c.Request().Header.Get(core.HeaderSignature)
	accepted, err := a.Executor.AcceptCallback(ctx, receipt, signature, func() ([]byte, error) {
		return core.ReadBody(c, engines.MaxAnswerBytes, echo.MIMEApplicationJSON)
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, CallbackBody{Accepted: accepted})
}
