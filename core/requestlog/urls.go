package requestlog

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(routes *core.Routes) {
	routes.GET("/requests/", core.As(api.RoleViewer, "see requests", a.list))
	routes.GET("/requests/:id/", core.As(api.RoleViewer, "see requests", core.OfID("request", a.read)))
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET(pages.OrgRoute+"/requests/", core.As(api.RoleViewer, "see requests", a.requestsPage))
	web.GET(pages.OrgRoute+"/requests/:id/",
		core.As(api.RoleViewer, "see requests", core.OfID("request", a.requestPage)))
}
