package admin

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *core.Routes) {
	api.GET("/idempotency-keys/", core.As(core.RoleViewer, "see keys", a.list))
	api.GET("/idempotency-keys/activity/", core.As(core.RoleViewer, "see keys", a.activity))
	api.GET("/idempotency-keys/:id/", core.As(core.RoleViewer, "see keys", a.read))
	// Administrators only, which the view checks when it has found the key.
	api.POST("/idempotency-keys/:id/release/", core.As(core.RoleViewer, "see keys", a.release))
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET(pages.OrgRoute+"/keys/", core.As(core.RoleViewer, "see keys", a.keysPage))
	web.GET(pages.OrgRoute+"/export-keys/", core.As(core.RoleViewer, "see keys", a.exportKeys))
	web.POST(pages.OrgRoute+"/select-keys/", core.As(core.RoleAdmin, "release idempotency keys", a.selectKeys))
	web.GET(pages.OrgRoute+"/keys/:id/", core.As(core.RoleViewer, "see keys", a.keyPage))
	web.POST(pages.OrgRoute+"/keys/:id/release/", core.As(core.RoleAdmin, "release idempotency keys", a.releaseForm))
}
