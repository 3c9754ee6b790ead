package workflows

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

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
