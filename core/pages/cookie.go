package pages

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// SetCookie keeps a value in the browser for the pages of the dashboard alone; with the life 0 it is forgotten. Scripts
// cannot read it, and other sites' forms do not send it. It is kept to encrypted connections when it was set on one; a
// proxy that ends the encryption says so in X-Forwarded-Proto.
func SetCookie(c echo.Context, name, value string, life time.Duration) {
	age := int(life.Seconds())
	if age == 0 {
		age = -1
	}
	secure := c.IsTLS() || c.Request().Header.Get(echo.HeaderXForwardedProto) == "https"
	c.SetCookie(&http.Cookie{ //nolint:gosec // Secure where the connection is: installations on one machine have http
		Name: name, Value: value, Path: Root, MaxAge: age,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	})
}
