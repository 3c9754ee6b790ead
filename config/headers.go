package config

import (
	"maps"
	"net/http"

	"github.com/labstack/echo/v4"
)

// fixedHeaders tells browsers to guess no types, to frame nothing and to name no page to others. If clients reach the
// service by https, browsers are told to use nothing else (HSTS); subdomains are not included, because they may belong
// to others. All answers share the values, to save memory.
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
