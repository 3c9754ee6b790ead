// Package workflows owns workflows and their versions, and the start endpoint: the request that turns
// a document into a validation run exactly once.
package workflows

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

// App is the app: its services and the views on them.
type App struct {
	service *Service
	starts  *Starter
	inband  *validations.Inband
	check   *core.Validator
	limits  BodyLimits
}

// New makes the app.
func New(
	service *Service, starts *Starter, inband *validations.Inband, check *core.Validator, limits BodyLimits,
) *App {
	return &App{service: service, starts: starts, inband: inband, check: check, limits: limits}
}

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/workflows/", a.list)
	api.GET("/workflows/:id/", a.read)
	api.POST("/workflows/:id/start/", a.start)
}
