package workflows

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users"
)

const (
	routeStart   = "/workflows/:id/start/"
	routeStartV1 = "/v1/orgs/:org/workflows/:id/runs/"
	aheadKey     = "workflows.ahead"
)

// rememberedVersions bounds how many of the versions that were started a process remembers.
const rememberedVersions = 10_000

// versionName is what a request calls a version: by the workflow's id or slug, and by a number or 0 for the latest.
type versionName struct {
	orgID    uuid.UUID
	workflow string
	number   int
}

// taggedVersion is what a name stood for when its organization had the tag.
type taggedVersion struct {
	version Version
	tag     uuid.UUID
}

func newVersions() (*lru.Cache[versionName, taggedVersion], error) {
	versions, err := lru.New[versionName, taggedVersion](rememberedVersions)
	if err != nil {
		return nil, fmt.Errorf("make the memory of versions: %w", err)
	}
	return versions, nil
}

// ahead is what a start looks up together with its caller's token. Both are nil when there is no such thing.
type ahead struct {
	workflow *Version
	key      *idempotency.Record
}

// ReadAhead looks the workflow and the key of a start up together with the caller's token. A request that is
// not well formed is left to the view, which refuses it before it asks for either.
func (a *App) ReadAhead(c echo.Context, caller users.Caller, lookups *db.Loader) {
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
	a.queueVersion(lookups, caller, c.Param("id"), pinned, &found.workflow)
	if key, given, err := idempotency.ParseKey(c.Request().Header); given && err == nil {
		idempotency.QueueLookup(lookups, caller.Org, caller.Param, EndpointStart, key, &found.key)
	}
}

// queueVersion finds a version, without a look-up when it is remembered from when the organization had the same tag.
func (a *App) queueVersion(lookups *db.Loader, caller users.Caller, idOrSlug string, number int, found **Version) {
	name := versionName{orgID: caller.OrgID, workflow: idOrSlug, number: number}
	if known, ok := a.versions.Get(name); ok && known.tag == caller.Tag {
		*found = &known.version
		return
	}
	column, value := nameOf(idOrSlug)
	lookups.Queue(func(row pgx.CollectableRow) error {
		var tag uuid.UUID
		version, err := scanVersionAnd(row, &tag)
		if err == nil {
			*found = &version
			name.orgID = version.OrgID
			a.versions.Add(name, taggedVersion{version: version, tag: tag})
		}
		return err
	}, `SELECT version.*, o.access_tag
		FROM (`+findQuery(caller.Org, column, "asked.name", "asked.number")+`) AS version
		JOIN organizations AS o ON o.id = version.org_id`,
		caller.Param,
		db.Param{Name: "name", Type: typeOf(column), Value: value},
		db.Param{Name: "number", Type: "integer", Value: number})
}

// aheadOf returns what ReadAhead has found for the request.
func aheadOf(c echo.Context) ahead {
	found, ok := c.Get(aheadKey).(*ahead)
	if !ok {
		return ahead{}
	}
	return *found
}
