package web

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/runs/", a.listRuns)
	api.GET("/runs/:id/", a.getRun)
	api.GET("/runs/:id/findings/", a.listFindings)
	api.GET("/runs/:id/events/", a.runEvents)
	api.POST("/runs/:id/cancel/", a.cancelRun)
	api.GET("/v1/orgs/:org/runs/:id/", a.getRunV1, core.OwnOrganization)
	api.GET("/signing-secrets/", a.showSecrets)
	// A callback has no token but a signature.
	api.POST("/callbacks/:id/", a.acceptCallback)
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET(pages.OrgRoute+"/", a.overviewPage)
	web.GET(pages.OrgRoute+"/runs/", a.runsPage)
	web.GET(pages.OrgRoute+"/runs/:id/", a.runPage)
	web.GET(pages.OrgRoute+"/runs/:id/findings/:format/", a.downloadFindings)
	web.POST(pages.OrgRoute+"/runs/:id/cancel/", a.cancelForm)
	web.GET(pages.OrgRoute+"/events/", a.pageEvents)
}
