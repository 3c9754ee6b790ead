package workflows

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// showRun reads a run as the clients of a route see it.
type showRun func(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (validations.RunBody, error)

// start returns the view of POST /api/workflows/{id}/start/. The order of the checks is part of the contract: key
// syntax, workflow, role, body, replay, and only then what concerns new runs. Routes differ in the source of their runs
// and in how they show them.
func (a *App) start(source func(echo.Context) validations.Source, show showRun) echo.HandlerFunc {
	return func(c echo.Context) error {
		request, err := a.startRequest(c, source(c))
		if err != nil {
			return err
		}
		answer, err := a.submit(c, request)
		if err != nil {
			return err
		}
		// A declined start has no run to wait for.
		if wait := preferredWait(c.Request().Header); wait > 0 && answer.Response.Status == http.StatusCreated {
			return a.answerLater(c, request.Principal, show, answer, wait)
		}
		return answer.Write(c)
	}
}

func sourceOf(c echo.Context) validations.Source {
	return validations.SourceOf(c.Request().UserAgent())
}

func existingClient(echo.Context) validations.Source { return validations.SourceCLI }

// startRequest authorizes a start.
func (a *App) startRequest(c echo.Context, source validations.Source) (StartRequest, error) {
	ctx := c.Request().Context()
	principal, err := core.Caller(c)
	if err != nil {
		return StartRequest{}, err
	}
	key := idempotency.KeyFrom(ctx)
	if _, err := pinnedVersion(c); err != nil {
		return StartRequest{}, err
	}
	found := aheadOf(c)
	workflow, err := a.service.withDefinition(ctx, found.workflow)
	if err != nil {
		return StartRequest{}, err
	}
	if err := principal.Require(core.RoleExecutor, "start runs"); err != nil {
		return StartRequest{}, err
	}
	return StartRequest{
		Principal: principal, Workflow: workflow, Source: source,
		Version: c.QueryParam("version"), VersionGiven: c.QueryParams().Has("version"),
		Key: key.Value, KeyGiven: key.Given, Found: found.key, KeyLifetime: a.guard.Lifetime(principal),
		Caller: idempotency.CallerOf(c), ReceivedAt: core.ReceivedAt(c), Admit: a.admit(c, principal.OrgID),
	}, nil
}

// submit reads the body of an authorized start to its end and starts the run.
func (a *App) submit(c echo.Context, request StartRequest) (StartAnswer, error) {
	ctx := c.Request().Context()
	intake := new(validations.Intake)
	if !request.answered() {
		intake = a.runs.NewIntake(request.Principal.OrgID)
	}
	var err error
	if request.Body, err = ReadStartBody(c.Request(), a.limits, intake); err != nil {
		intake.Discard(ctx)
		return StartAnswer{}, err
	}
	return a.startOrDiscard(ctx, intake, request)
}

// startOrDiscard starts a run, and removes what was kept of its document when no run comes of it.
func (a *App) startOrDiscard(
	ctx context.Context, intake *validations.Intake, request StartRequest,
) (StartAnswer, error) {
	answer, err := a.starts.Start(ctx, request)
	if err != nil || answer.Replayed {
		intake.Discard(ctx)
	}
	return answer, err
}

// admit counts a new run, repeated or not, against how many the organization may start in a short time, and tells the
// client how many are left.
func (a *App) admit(c echo.Context, orgID uuid.UUID) func(context.Context) error {
	return func(ctx context.Context) error {
		allowance := a.limit.Allow(ctx, orgID)
		allowance.Announce(c.Response().Header())
		if !allowance.Allowed() {
			return core.RateLimited("Your organization starts too many runs.", allowance.Wait)
		}
		return nil
	}
}

// showTimeout bounds the reading of the run after the wait.
const showTimeout = 5 * time.Second

// answerLater answers with the run as it is when it is completed or the time is over. What is stored
// under the key is the ordinary answer all the same, and that is also what is answered when the run cannot
// be read: it has been started, and no later trouble may say otherwise.
func (a *App) answerLater(
	c echo.Context, principal core.Principal, show showRun, answer StartAnswer, wait time.Duration,
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
	body, err := show(ctx, principal.OrgID, principal.OrgSlug, answer.RunID)
	if err != nil {
		return answer.Write(c)
	}
	answer.WriteHeaders(c)
	c.Response().Header().Set("Preference-Applied", fmt.Sprintf("wait=%d", int(wait.Seconds())))
	return c.JSON(answer.Response.Status, body)
}
