package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/progress"
)

// runsQuery is the query of the list of runs.
type runsQuery struct {
	core.PageQuery
	validations.RunFilter
}

// runQuery is the query of one run.
type runQuery struct {
	// Wait is how many seconds to wait for the end of the run.
	Wait string `query:"wait"`
}

// maxWait bounds the wait that a request can ask for.
const maxWait = time.Minute

// getRun is GET /api/runs/{id}/. With ?wait= it answers when the run is completed or the wait is over.
func (a *App) getRun(c echo.Context, principal core.Principal, id uuid.UUID) error {
	body, err := a.awaitRun(c, principal, id)
	if err != nil {
		return err
	}
	return answerRun(c, body)
}

// getRunV1 is GET /api/v1/orgs/{org}/runs/{id}/: getRun for the existing client.
func (a *App) getRunV1(c echo.Context, principal core.Principal, id uuid.UUID) error {
	body, err := a.awaitRun(c, principal, id)
	if err != nil {
		return err
	}
	return answerRun(c, validations.ForExistingClient(body))
}

// awaitRun reads the run of the request, after the wait that the request asks for.
func (a *App) awaitRun(c echo.Context, principal core.Principal, id uuid.UUID) (api.Run, error) {
	var query runQuery
	if err := core.BindQuery(c, a.Validator, &query); err != nil {
		return api.Run{}, err
	}
	most := int(maxWait.Seconds())
	seconds, err := strconv.Atoi(cmp.Or(query.Wait, "0"))
	if err != nil || seconds < 0 || seconds > most {
		return api.Run{}, core.InvalidParameter("wait",
			fmt.Sprintf("must be a whole number of seconds from 0 to %d", most))
	}
	wait := time.Duration(seconds) * time.Second
	ctx := c.Request().Context()
	body, err := a.Runs.Show(ctx, principal.OrgID, principal.OrgSlug, id)
	if err != nil || wait == 0 || body.State == api.RunStateCompleted {
		return body, err
	}
	core.ClearReadDeadline(c)
	if err := a.awaitEnd(ctx, progress.RunKey{OrgID: principal.OrgID, ID: id}, wait); err != nil {
		return api.Run{}, err
	}
	return a.Runs.Show(ctx, principal.OrgID, principal.OrgSlug, id)
}

// awaitEnd waits for the end of a run, as long as the caller may see it.
func (a *App) awaitEnd(ctx context.Context, run progress.RunKey, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; {
		left := time.Until(deadline)
		ended := a.Waiters.AwaitEnd(ctx, run, nil, min(left, progress.Heartbeat))
		if err := core.ConfirmAccess(ctx); err != nil {
			return err
		}
		if over := left <= progress.Heartbeat || !a.Waiters.Open(); ended || over {
			return nil
		}
	}
}

// cancelRun is POST /api/runs/{id}/cancel/. Repeating it is no error.
func (a *App) cancelRun(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.Cancel(c, principal, id); err != nil {
		return err
	}
	body, err := a.Runs.Show(c.Request().Context(), principal.OrgID, principal.OrgSlug, id)
	if err != nil {
		return err
	}
	return answerRun(c, body)
}

// Cancel cancels a run if the principal may do so. A run of another organization is not found.
func (a *App) Cancel(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	if _, err := a.Runs.Find(ctx, principal.OrgID, id); err != nil {
		return err
	}
	if err := principal.Require(api.RoleExecutor, cancelRuns); err != nil {
		return err
	}
	return a.Executor.Cancel(ctx, principal, id)
}

// retryAfter is how many seconds a client should wait before it polls an unfinished run again.
const retryAfter = "1"

// answerRun answers with the run, or with 304 if the client has this version already.
func answerRun(c echo.Context, body api.Run) error {
	if body.State != api.RunStateCompleted {
		c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter)
	}
	return core.AnswerTagged(c, body)
}

func (a *App) listRuns(c echo.Context, principal core.Principal) error {
	var query runsQuery
	cursor, err := core.BindList(c, a.Validator, &query)
	if err != nil {
		return err
	}
	found, err := a.Runs.ListFiltered(c.Request().Context(), a.Keys, principal.OrgID, query.RunFilter, cursor)
	if err != nil {
		return err
	}
	address := *c.Request().URL
	page := core.NewPage(cursor, found.Found, found.Stopped, func(r validations.Run) uuid.UUID { return r.ID }, address)
	return c.JSON(http.StatusOK, core.MapPage(page, func(run validations.Run) api.Run {
		return validations.RenderRun(run, principal.OrgSlug)
	}))
}
