package idempotency

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"
)

// Key is the idempotency key of a request, if it has one.
type Key struct {
	Value string
	// Given is false when the request has no key, or one that is not well formed.
	Given bool
}

// requestKey is a request's key, or why it is not well formed.
type requestKey struct {
	Key

	err error
}

var errKeyNotRead = errors.New("a guarded route is not behind ReadKey")

// keyKey is the context key of the requestKey.
type keyKey struct{}

// KeyFrom returns the key of a request to the API, or of a form whose key was echoed.
func KeyFrom(ctx context.Context) Key {
	key, _ := ctx.Value(keyKey{}).(requestKey)
	return key.Key
}

func (k requestKey) addTo(c echo.Context) {
	c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), keyKey{}, k)))
}

// EchoFormKey is ReadKey for the key of a form.
func EchoFormKey(c echo.Context, key Key) {
	if key.Given {
		c.Response().Header().Set(Header, key.Value)
		requestKey{Key: key}.addTo(c)
	}
}

// ReadKey reads the key of a request for KeyFrom. It repeats a well-formed key in the answer as it was sent, also in
// refusals. A client that logs answers can then match them to its requests.
func ReadKey(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		value, given, err := ParseKey(c.Request().Header)
		if given && err == nil {
			c.Response().Header().Set(Header, c.Request().Header.Get(Header))
		}
		requestKey{Key: Key{Value: value, Given: given && err == nil}, err: err}.addTo(c)
		return next(c)
	}
}
