package idempotency

import "github.com/labstack/echo/v4"

// EchoFormKey is EchoKey for the key of a form.
func EchoFormKey(c echo.Context, key Key) {
	if key.Given {
		c.Response().Header().Set(Header, key.Value)
	}
}

// EchoKey repeats a well-formed key in the answer as it was sent, also in refusals. A client that logs answers can then
// match them to its requests.
func EchoKey(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, given, err := ParseKey(c.Request().Header); given && err == nil {
			c.Response().Header().Set(Header, c.Request().Header.Get(Header))
		}
		return next(c)
	}
}
