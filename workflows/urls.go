package workflows

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET(pages.OrgRoute+"/launch/", a.launchAny)
	web.GET(pages.OrgRoute+"/workflows/:id/launch/", a.showLaunch)
	web.POST(pages.OrgRoute+"/workflows/:id/launch/", a.launch)
	web.GET(pages.OrgRoute+"/workflows/:id/launch/:key/", a.showLaunched)
}
