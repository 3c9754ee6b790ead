package core

import (
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// Routes registers the routes of the authenticated API. The zero Routes has none.
type Routes struct {
	*echo.Group

	prefetches map[route]Prefetch
}

type route struct{ method, path string }

// NewRoutes registers routes in a group.
func NewRoutes(group *echo.Group) *Routes {
	return &Routes{Group: group, prefetches: make(map[route]Prefetch)}
}

// CallerOrg names the organization of a caller who is not identified yet.
type CallerOrg struct {
	// Param is its id in look-ups, which call it asked.org.
	Param db.Param
	// ID and Tag are those of a cached caller; they are zero where only the token is known. What was read under this
	// access tag is still true if the caller is let through: otherwise all is looked up again by the token.
	ID  uuid.UUID
	Tag uuid.UUID
}

// Prefetch adds the look-ups of a route to the one that identifies its caller, so that they cost no round trip of their
// own. What they find must not be used before the caller is identified. It may be called twice for a request; then the
// second look-ups count.
type Prefetch func(c echo.Context, org CallerOrg, loader *db.Loader)

// Prefetch gives a route a Prefetch.
func (r *Routes) Prefetch(of *echo.Route, prefetch Prefetch) {
	r.prefetches[route{of.Method, of.Path}] = prefetch
}

// PrefetchOf returns the Prefetch of the request's route, which does nothing where the route has none.
func (r *Routes) PrefetchOf(c echo.Context) func(CallerOrg, *db.Loader) {
	prefetch, ok := r.prefetches[route{c.Request().Method, c.Path()}]
	if !ok {
		return func(CallerOrg, *db.Loader) {}
	}
	return func(org CallerOrg, loader *db.Loader) { prefetch(c, org, loader) }
}
