package admin

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(routes *core.Routes) {
	routes.GET("/idempotency-keys/", core.As(api.RoleViewer, "see keys", a.list))
	routes.GET("/idempotency-keys/activity/", core.As(api.RoleViewer, "see keys", a.activity))
	routes.GET("/idempotency-keys/:id/", core.As(api.RoleViewer, "see keys", core.OfID("idempotency key", a.read)))
	// Administrators only, which the view checks when it has found the key.
	routes.POST("/idempotency-keys/:id/release/",
		core.As(api.RoleViewer, "see keys", core.OfID("idempotency key", a.release)))
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET(pages.OrgRoute+"/keys/", core.As(api.RoleViewer, "see keys", a.keysPage))
	web.GET(pages.OrgRoute+"/export-keys/", core.As(api.RoleViewer, "see keys", a.exportKeys))
	web.GET(pages.OrgRoute+"/keys/:id/", core.As(api.RoleViewer, "see keys", core.OfID("idempotency key", a.keyPage)))
	web.POST(pages.OrgRoute+"/keys/:id/release/",
		core.As(api.RoleAdmin, "release idempotency keys", core.OfID("idempotency key", a.releaseForm)))
}
