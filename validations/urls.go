package validations

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/runs/", a.listRuns)
	api.GET("/runs/:id/", a.getRun)
	api.GET("/runs/:id/findings/", a.listFindings)
	api.GET("/runs/:id/events/", a.streamEvents)
	api.POST("/runs/:id/cancel/", a.cancelRun)
	api.GET("/v1/orgs/:org/runs/:id/", a.getRun, core.OwnOrganization)
}
