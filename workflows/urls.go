package workflows

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API. A route with a Prefetch looks up what it needs in the round
// trip that authenticates its caller.
func (a *App) Routes(api *echo.Group) {
	api.GET("/workflows/", a.list)
	api.GET("/workflows/:id/", a.read)
	api.POST("/workflows/", a.create, a.guard.Keyed)
	api.PATCH("/workflows/:id/", a.update)
	api.POST("/workflows/:id/activate/", a.activate)
	api.POST("/workflows/:id/deactivate/", a.deactivate)
	api.GET("/workflows/:id/export/", a.exportFile)
	api.POST("/workflows/import/", a.importFile, a.guard.Keyed)
	api.POST("/workflows/:id/versions/", a.createVersion, a.guard.Keyed)
	api.POST("/runs/:id/rerun/", a.starts.Rerun, a.guard.Keyed)
	api.GET("/v1/orgs/:org/workflows/", a.list, core.OwnOrganization)
	api.GET("/v1/orgs/:org/workflows/:id/", a.read, core.OwnOrganization)

	a.prefetches.Add(api.POST("/workflows/:id/start/",
		a.starts.Start(a.starts.Current()), a.guard.Keyed), a.starts.Prefetch)
	// The existing clients send no keys and cannot be made to.
	a.prefetches.Add(api.POST("/v1/orgs/:org/workflows/:id/runs/",
		a.starts.Start(a.starts.Existing()), core.OwnOrganization, a.guard.KeyOptional), a.starts.Prefetch)
}

// Pages adds the app's pages to the dashboard. Those of one workflow come below its slug or id, so that no slug can be
// taken for a page.
func (a *App) Pages(web *echo.Group) {
	web.GET(pages.OrgRoute+"/launch/", a.launchAny)
	web.GET(pages.OrgRoute+"/new-workflow/", a.showNew)
	web.POST(pages.OrgRoute+"/new-workflow/", a.saveNew)
	web.GET(pages.OrgRoute+"/import-workflow/", a.showImport)
	web.POST(pages.OrgRoute+"/import-workflow/", a.saveImport)
	web.GET(pages.OrgRoute+"/workflows/", a.workflowsPage)
	web.GET(pages.OrgRoute+"/workflows/:id/", a.workflowPage)
	web.GET(pages.OrgRoute+"/workflows/:id/edit/", a.showEdit)
	web.POST(pages.OrgRoute+"/workflows/:id/edit/", a.saveEdit)
	web.GET(pages.OrgRoute+"/workflows/:id/export/", a.exportFile)
	web.POST(pages.OrgRoute+"/workflows/:id/activate/", a.switchTo(true, "workflow.activate"))
	web.POST(pages.OrgRoute+"/workflows/:id/deactivate/", a.switchTo(false, "workflow.deactivate"))
	web.GET(pages.OrgRoute+"/workflows/:id/versions/", a.versionsPage)
	web.GET(pages.OrgRoute+"/workflows/:id/versions/:number/", a.versionPage)
	web.GET(pages.OrgRoute+"/workflows/:id/launch/", a.showLaunch)
	web.POST(pages.OrgRoute+"/workflows/:id/launch/", a.launch)
	web.GET(pages.OrgRoute+"/workflows/:id/launch/:key/", a.showLaunched)
	web.POST(pages.OrgRoute+"/runs/:id/rerun/", a.rerunForm)
}
