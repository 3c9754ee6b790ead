package idempotency

import "github.com/labstack/echo/v4"

// EchoKey repeats a well-formed key in the answer, as it was sent, whatever the answer is.
func EchoKey(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, given, err := ParseKey(c.Request().Header); given && err == nil {
			c.Response().Header().Set(Header, c.Request().Header.Get(Header))
		}
		return next(c)
	}
}
