package start

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// Versions finds the version of a workflow that a request names.
type Versions interface {
	// PrefetchVersion looks a version up together with the caller's token: by the id or slug of its workflow and its
	// number, 0 for the latest. Its definition is not loaded. The future's value is nil where there is no such version.
	PrefetchVersion(
		loader *db.Loader, org core.CallerOrg, idOrSlug string, number int,
	) *db.Future[*validations.WorkflowRef]
	// FindVersion returns a version with its definition, or answers not_found.
	FindVersion(ctx context.Context, orgID, workflowID uuid.UUID, number int) (validations.WorkflowRef, error)
}

// prefetched is what a start looks up in the round trip that authenticates its caller.
type prefetched struct {
	workflow *db.Future[*validations.WorkflowRef]
	// record is the key; nil where the request has none.
	record *db.Future[*idempotency.Record]
	// err is the fault of a request that names no version.
	err error
}

var errNoPrefetch = errors.New("the route has no prefetch")

// prefetchedKey is the context key of a request's *atomic.Pointer[prefetched].
type prefetchedKey struct{}

// Prefetch looks up the workflow and the key of a start together with the caller's token, which saves a round trip.
func (a *API) Prefetch(c echo.Context, org core.CallerOrg, loader *db.Loader) {
	ctx := c.Request().Context()
	latest, again := ctx.Value(prefetchedKey{}).(*atomic.Pointer[prefetched])
	if !again {
		latest = new(atomic.Pointer[prefetched])
		c.SetRequest(c.Request().WithContext(context.WithValue(ctx, prefetchedKey{}, latest)))
	}
	var found prefetched
	var number int
	if number, found.err = VersionNumber(c); found.err == nil {
		found.workflow = a.versions.PrefetchVersion(loader, org, c.Param("id"), number)
		if key := idempotency.KeyFrom(ctx); key.Given {
			found.record = idempotency.Prefetch(loader, org, Endpoint, key.Value)
		}
	}
	latest.Store(&found)
}

// prefetchedOf returns the workflow and the key that Prefetch has found for the request.
func prefetchedOf(ctx context.Context) (validations.WorkflowRef, *idempotency.Record, error) {
	latest, ok := ctx.Value(prefetchedKey{}).(*atomic.Pointer[prefetched])
	if !ok {
		return validations.WorkflowRef{}, nil, errNoPrefetch
	}
	found := latest.Load()
	if found.err != nil {
		return validations.WorkflowRef{}, nil, found.err
	}
	workflow, err := found.workflow.Get()
	if err != nil {
		return validations.WorkflowRef{}, nil, err
	}
	if workflow == nil {
		return validations.WorkflowRef{}, nil, core.NotFound("workflow")
	}
	if found.record == nil {
		return *workflow, nil, nil
	}
	record, err := found.record.Get()
	if record != nil && record.Absent() {
		record = nil
	}
	return *workflow, record, err
}

// VersionNumber reads ?version=; 0 stands for the latest.
func VersionNumber(c echo.Context) (int, error) {
	text := c.QueryParam("version")
	if !c.QueryParams().Has("version") {
		return 0, nil
	}
	version, err := strconv.ParseInt(text, 10, 32)
	if err != nil || version < 1 || strconv.FormatInt(version, 10) != text || len(c.QueryParams()["version"]) > 1 {
		return 0, core.InvalidParameter("version", "must be one whole number from 1, written in digits alone")
	}
	return int(version), nil
}
