package validations

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Limiter bounds how many callbacks an address may send.
type Limiter interface {
	Allow(address uuid.UUID) core.Allowance
}

// ExternalApp is what external validators and those who write them see of the app.
type ExternalApp struct {
	service *Service
	limit   Limiter
}

// NewExternalApp makes the app.
func NewExternalApp(service *Service, limit Limiter) *ExternalApp {
	return &ExternalApp{service: service, limit: limit}
}

// Routes adds the routes. A callback carries a signature in place of a token.
func (a *ExternalApp) Routes(api *echo.Group) {
	api.GET("/signing-secret/", a.showSecret)
	api.POST("/callbacks/:id/", a.callback)
}

// SecretBody is the organization's signing secret as its authors see it. Previous is the one before the last rotation.
type SecretBody struct {
	Secret   string        `json:"secret"`
	Previous core.Optional `json:"previous"`
}

// CallbackBody tells a validator whether its answer counts.
type CallbackBody struct {
	Accepted bool `json:"accepted"`
}

func (a *ExternalApp) showSecret(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAuthor, "see the signing secret"); err != nil {
		return err
	}
	secret, err := a.service.SigningSecret(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, SecretBody{Secret: secret.Secret, Previous: core.Optional(secret.Previous)})
}

func (a *ExternalApp) callback(c echo.Context) error {
	// The limit knows ids; what is made of the peer's address is one.
	peer := uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.RealIP()))
	allowance := a.limit.Allow(peer)
	allowance.Announce(c.Response().Header())
	if !allowance.Allowed() {
		return core.RateLimited("This address sends too many callbacks.", allowance.Wait)
	}
	receipt, ok := core.ParseID(c.Param("id"))
	if !ok {
		return core.NewError(core.CodeNotFound, "There is no such receipt.")
	}
	ctx := c.Request().Context()
	promise, err := a.service.findPromise(ctx, receipt)
	if err != nil {
		return err
	}
	answer, err := core.ReadBody(c, engines.MaxAnswerBytes, echo.MIMEApplicationJSON)
	if err != nil {
		return err
	}
	accepted, err := a.service.acceptCallback(ctx, promise, c.Request().Header.Get(core.HeaderSignature), answer)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, CallbackBody{Accepted: accepted})
}
