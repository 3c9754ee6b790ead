package users

import "github.com/labstack/echo/v4"

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/me/", a.me)
	api.GET("/usage/", a.usage)
}
