package start

import (
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// Rerun is POST /api/runs/{id}/rerun/: the document of an earlier run is checked again, with the version of the
// workflow that the earlier run had.
func (a *API) Rerun(c echo.Context, principal core.Principal) error {
	request := c.Request()
	answer, err := a.RerunOnce(
		c, principal, idempotency.KeyFrom(request.Context()), validations.SourceOf(request.UserAgent()))
	if err != nil {
		return err
	}
	return answer.Write(c)
}

// RerunOnce checks the document of the request's run again, once for each key.
func (a *API) RerunOnce(
	c echo.Context, principal core.Principal, key idempotency.Key, source api.Source,
) (Answer, error) {
	id, err := core.PathID(c, "run")
	if err != nil {
		return Answer{}, err
	}
	return a.RerunOf(c, principal, id, key, source)
}

// RerunOf is RerunOnce for a run that the caller has chosen.
func (a *API) RerunOf(
	c echo.Context, principal core.Principal, id uuid.UUID, key idempotency.Key, source api.Source,
) (Answer, error) {
	ctx := c.Request().Context()
	if _, err := core.ConfirmAfterBody(ctx); err != nil {
		return Answer{}, err
	}
	earlier, err := a.runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return Answer{}, err
	}
	if err := principal.Require(api.RoleExecutor, "start runs"); err != nil {
		return Answer{}, err
	}
	workflow, err := a.versions.FindVersion(ctx, principal.OrgID, earlier.WorkflowID, earlier.WorkflowVersion)
	if err != nil {
		return Answer{}, err
	}
	request := a.newRequest(c, EndpointRerun, principal, workflow, key, source)
	request.Earlier = &earlier
	if request.Stored, err = a.starter.Lookup(ctx, principal.OrgID, EndpointRerun, key); err != nil {
		return Answer{}, err
	}
	return a.starter.Start(ctx, request)
}
