package workflows

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// start is POST /api/workflows/{id}/start/. The order of the checks is part of the contract: key
// syntax, workflow, role, body, replay, and only then what concerns new runs.
func (a *App) start(c echo.Context) error {
	ctx := c.Request().Context()
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	key := idempotency.KeyFrom(ctx)
	if _, err := pinnedVersion(c); err != nil {
		return err
	}
	found := aheadOf(c)
	workflow, err := a.service.withDefinition(ctx, found.workflow)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleExecutor, "start runs"); err != nil {
		return err
	}
	body, err := ReadStartBody(c.Request(), a.limits)
	if err != nil {
		return err
	}
	answer, err := a.starts.Start(ctx, StartRequest{
		Principal: principal, Workflow: workflow, Body: body,
		Version: c.QueryParam("version"), VersionGiven: c.QueryParams().Has("version"),
		Key: key.Value, KeyGiven: key.Given, Found: found.key, KeyLifetime: a.guard.Lifetime(principal),
		Caller: idempotency.CallerOf(c),
	})
	if err != nil {
		return err
	}
	// A declined start has no run to wait for.
	if wait := preferredWait(c.Request().Header); wait > 0 && answer.Response.Status == http.StatusCreated {
		return a.answerLater(c, principal, answer, wait)
	}
	return answer.Write(c)
}

// showTimeout bounds the reading of the run after the wait.
const showTimeout = 5 * time.Second

// answerLater answers with the run as it is when it is completed or the time is over. What is stored
// under the key is the ordinary answer all the same, and that is also what is answered when the run cannot
// be read: it has been started, and no later trouble may say otherwise.
func (a *App) answerLater(
	c echo.Context, principal core.Principal, answer StartAnswer, wait time.Duration,
) error {
	ctx := c.Request().Context()
	core.AwaitCalmly(c)
	if answer.Replayed {
		a.inband.Wait(ctx, principal.OrgID, answer.RunID, wait)
	} else {
		a.inband.WaitNew(ctx, principal.OrgID, answer.RunID, wait)
	}
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	body, err := a.inband.Show(ctx, principal.OrgID, principal.OrgSlug, answer.RunID)
	if err != nil {
		return answer.Write(c)
	}
	answer.WriteHeaders(c)
	c.Response().Header().Set("Preference-Applied", fmt.Sprintf("wait=%d", int(wait.Seconds())))
	return c.JSON(answer.Response.Status, body)
}
