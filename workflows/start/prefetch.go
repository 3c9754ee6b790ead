package start

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
)

// Versions finds the version of a workflow that a request names.
type Versions interface {
	// PrefetchVersion looks a version up together with the caller's token: by the id or slug of its workflow and its
	// number, 0 for the latest. Its definition is not loaded. The future's value is nil where there is no such version.
	PrefetchVersion(
		loader *db.Loader, caller users.Caller, idOrSlug string, number int,
	) *db.Future[*validations.WorkflowRef]
	// FindVersion returns a version with its definition, or answers not_found.
	FindVersion(ctx context.Context, orgID, workflowID uuid.UUID, number int) (validations.WorkflowRef, error)
}

const prefetchKey = "workflows.start.prefetch"

// prefetched is what a start looks up in the round trip that authenticates its caller.
type prefetched struct {
	workflow *db.Future[*validations.WorkflowRef]
	// record is the key; nil where the request has none.
	record *db.Future[*idempotency.Record]
}

// Prefetch looks up the workflow and the key of a start together with the caller's token, which saves a round trip. A
// request that is not well formed is left to the view, which refuses it before it uses either.
func (a *API) Prefetch(c echo.Context, caller users.Caller, loader *db.Loader) {
	number, err := VersionNumber(c)
	if err != nil {
		return
	}
	found := prefetched{workflow: a.versions.PrefetchVersion(loader, caller, c.Param("id"), number)}
	if key, given, err := idempotency.ParseKey(c.Request().Header); given && err == nil {
		found.record = idempotency.Prefetch(loader, caller.Org, caller.Param, Endpoint, key)
	}
	c.Set(prefetchKey, found)
}

// prefetched returns the workflow and the key that Prefetch has found for the request.
func (a *API) prefetched(c echo.Context) (validations.WorkflowRef, *idempotency.Record, error) {
	found, ok := c.Get(prefetchKey).(prefetched)
	if !ok {
		return validations.WorkflowRef{}, nil, core.NotFound("workflow")
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
