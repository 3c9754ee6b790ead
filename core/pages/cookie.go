package pages

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// hostPrefix makes browsers refuse a cookie unless it comes from this very host over an encrypted connection, so that
// neither a subdomain nor an attacker on the network can set one.
const hostPrefix = "__Host-"

const hostCookiesKey = "pages.host_cookies"

// HostCookies gives the names of cookies the prefix __Host- where clients reach the service by https.
func HostCookies(isEncrypted bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(hostCookiesKey, isEncrypted)
			return next(c)
		}
	}
}

// Cookie returns the value that SetCookie has kept under the name; "" for none.
func Cookie(c echo.Context, name string) string {
	if hasHostCookies(c) {
		name = hostPrefix + name
	}
	cookie, err := c.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// SetCookie keeps a value in the browser for the dashboard alone; with the life 0 it is forgotten. Scripts cannot read
// it, and other sites' forms do not send it. It is kept to encrypted connections where the service is reached by https,
// or where it was set on one; a proxy that ends the encryption says so in X-Forwarded-Proto.
func SetCookie(c echo.Context, name, value string, life time.Duration) {
	age := int(life.Seconds())
	if age == 0 {
		age = -1
	}
	secure := c.IsTLS() || c.Request().Header.Get(echo.HeaderXForwardedProto) == "https"
	path := Root
	if hasHostCookies(c) {
		// The prefix demands both.
		name, secure, path = hostPrefix+name, true, "/"
	}
	c.SetCookie(&http.Cookie{ //nolint:gosec // Secure where the connection is: installations on one machine have http
		Name: name, Value: value, Path: path, MaxAge: age,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	})
}

func hasHostCookies(c echo.Context) bool {
	isEncrypted, _ := c.Get(hostCookiesKey).(bool)
	return isEncrypted
}
