package edge

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
	"github.com/simplevalidations/simplevalidations/users/access"
)

// DescribeLogged adds to the request log what only the routes know.
func DescribeLogged() requestlog.Describe {
	endpoints := keyedRoutes()
	return requestlog.Describe{
		Logs: isLogged,
		Endpoint: func(c echo.Context) idempotency.Endpoint {
			return endpoints[c.Request().Method+" "+c.Path()]
		},
		Run:   runOf,
		Token: access.TokenDigest,
	}
}

// isLogged reports whether a request belongs into the log if it is an organization's. Requests to the API and to the
// pages of an organization do; callbacks of external validators do not, which are answers to requests of the service.
func isLogged(c echo.Context) bool {
	path := c.Request().URL.Path
	return strings.HasPrefix(path, pages.Root+"orgs/") || strings.HasPrefix(path, APIPrefix+"/") && !isPublic(path)
}

// keyedRoutes are the routes whose requests take keys, with the operation of the keys.
func keyedRoutes() map[string]idempotency.Endpoint {
	const start, rerun idempotency.Endpoint = "workflow_start", "run_rerun"
	return map[string]idempotency.Endpoint{
		"POST /api/workflows/:id/start/":             start,
		"POST /api/v1/orgs/:org/workflows/:id/runs/": start,
		"POST /app/orgs/:org/workflows/:id/launch/":  start,
		"POST /api/runs/:id/rerun/":                  rerun,
		"POST /app/orgs/:org/runs/:id/rerun/":        rerun,
		"POST /api/workflows/":                       "workflow_create",
		"POST /api/workflows/import/":                "workflow_import",
		"POST /api/workflows/:id/versions/":          "workflow_version",
		"POST /api/members/":                         "member_add",
		"POST /api/webhooks/:id/test/":               "webhooks.test",
		"POST /api/webhooks/:id/resend/":             "webhooks.resend",
	}
}
