package admin

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/idempotency-keys/", a.list)
	api.GET("/idempotency-keys/activity/", a.activity)
	api.GET("/idempotency-keys/:id/", a.read)
	api.POST("/idempotency-keys/:id/release/", a.release)
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET(pages.OrgRoute+"/keys/", a.keysPage)
	web.GET(pages.OrgRoute+"/keys/:id/", a.keyPage)
	web.POST(pages.OrgRoute+"/keys/:id/release/", a.releaseForm)
}
