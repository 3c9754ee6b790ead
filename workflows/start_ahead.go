package workflows

import (
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users"
)

const (
	routeStart   = "/workflows/:id/start/"
	routeStartV1 = "/v1/orgs/:org/workflows/:id/runs/"
	aheadKey     = "workflows.ahead"
)

// ahead is what a start looks up together with its caller's token. Both are nil when there is no such thing.
type ahead struct {
	workflow *Version
	key      *idempotency.Record
}

// ReadAhead looks the workflow and the key of a start up together with the caller's token. A request that is
// not well formed is left to the view, which refuses it before it asks for either.
func (a *App) ReadAhead(c echo.Context, tokenDigest []byte, lookups *core.Lookups) {
	isStart := strings.HasSuffix(c.Path(), routeStart) || strings.HasSuffix(c.Path(), routeStartV1)
	if c.Request().Method != http.MethodPost || !isStart {
		return
	}
	pinned, err := pinnedVersion(c)
	if err != nil {
		return
	}
	found := new(ahead)
	c.Set(aheadKey, found)
	token := users.TokenParam(tokenDigest)
	column, name := nameOf(c.Param("id"))
	lookups.Queue(func(row pgx.CollectableRow) error {
		version, err := scanVersion(row)
		found.workflow = &version
		return err
	}, findQuery(users.OrgOfToken, column, "asked.name", "asked.number"), token,
		core.Param{Name: "name", Type: typeOf(column), Value: name},
		core.Param{Name: "number", Type: "integer", Value: pinned})
	if key, given, err := idempotency.ParseKey(c.Request().Header); given && err == nil {
		idempotency.QueueLookup(lookups, users.OrgOfToken, token, EndpointStart, key, &found.key)
	}
}

// aheadOf returns what ReadAhead has found for the request.
func aheadOf(c echo.Context) ahead {
	found, ok := c.Get(aheadKey).(*ahead)
	if !ok {
		return ahead{}
	}
	return *found
}
