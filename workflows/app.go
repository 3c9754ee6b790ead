// Package workflows owns workflows and their versions, and the start endpoint: the request that turns
// a document into a validation run exactly once.
package workflows

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// App is the app: its services and the views on them.
type App struct {
	service *Service
	runs    *validations.Service
	staged  *jobs.Signal
	starts  *Starter
	inband  *validations.Inband
	guard   *idempotency.Guard
	check   *core.Validator
	limits  BodyLimits
}

// New makes the app.
func New(
	service *Service, starts *Starter, inband *validations.Inband, guard *idempotency.Guard, check *core.Validator,
	limits BodyLimits,
) *App {
	return &App{
		service: service, runs: service.runs, staged: starts.staged, starts: starts, inband: inband, guard: guard,
		check: check, limits: limits,
	}
}

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/workflows/", a.list)
	api.GET("/workflows/:id/", a.read)
	api.POST("/workflows/", a.create, a.guard.Keyed)
	api.POST("/workflows/:id/versions/", a.createVersion, a.guard.Keyed)
	api.POST(routeStart, a.start, a.guard.Keyed)
	api.POST("/runs/:id/rerun/", a.rerun, a.guard.Keyed)
}
