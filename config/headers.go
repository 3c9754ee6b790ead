package config

import (
	"maps"
	"net/http"

	"github.com/labstack/echo/v4"
)

// fixedHeaders tells browsers to guess no types, to frame nothing and to name no page to others. Where clients reach
// the service by https, it keeps them to that; subdomains may be somebody else's. All answers share the values, so that
// they cost no memory each.
func fixedHeaders(settings Settings) echo.MiddlewareFunc {
	fixed := http.Header{
		echo.HeaderXContentTypeOptions: {"nosniff"},
		echo.HeaderXFrameOptions:       {"DENY"},
		echo.HeaderReferrerPolicy:      {"same-origin"},
	}
	if settings.isEncrypted() {
		fixed.Set(echo.HeaderStrictTransportSecurity, "max-age=31536000")
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			maps.Copy(c.Response().Header(), fixed)
			return next(c)
		}
	}
}
