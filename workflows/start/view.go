package start

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/progress"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// API is the HTTP side of starts: the views of the start endpoint and of reruns, and what the dashboard's forms share
// with them.
type API struct {
	starter  *Starter
	versions Versions
	runs     *validations.Service
	waiters  *progress.Waiters
	guard    *idempotency.Guard
	limit    core.Limiter
	limits   body.Limits
}

// NewAPI makes the API of a Starter.
func NewAPI(
	starter *Starter, versions Versions, waiters *progress.Waiters, limit core.Limiter, limits body.Limits,
) *API {
	return &API{
		starter: starter, versions: versions, runs: starter.runs, waiters: waiters, guard: starter.guard, limit: limit,
		limits: limits,
	}
}

// Clients are the clients of a route: where their runs come from, and how a run is shown to them.
type Clients struct {
	Source func(userAgent string) api.Source
	Show   func(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (api.Run, error)
}

// Current are the clients of the routes below /api/.
func (a *API) Current() Clients {
	return Clients{Source: validations.SourceOf, Show: a.runs.Show}
}

// Existing are the clients of the routes below /api/v1/.
func (a *API) Existing() Clients {
	return Clients{Source: func(string) api.Source { return api.SourceCLI }, Show: a.runs.ShowV1}
}

// Start returns the view of POST /api/workflows/{id}/start/. The order of the checks is part of the contract: key
// syntax (Guard.Keyed), workflow, role, body, replay, and only then what concerns new runs.
func (a *API) Start(clients Clients) echo.HandlerFunc {
	return func(c echo.Context) error {
		request, err := a.authorize(c, clients.Source(c.Request().UserAgent()))
		if err != nil {
			return err
		}
		answer, err := a.submit(c, request)
		if err != nil {
			return err
		}
		// A declined start has no run to wait for.
		if wait := preferredWait(c.Request().Header); wait > 0 && answer.Response.Status == http.StatusCreated {
			return a.writeWhenCompleted(c, request.Principal, clients, answer, wait)
		}
		return answer.Write(c)
	}
}

// authorize makes the request of a caller who may start runs of the workflow. Its body is not read yet.
func (a *API) authorize(c echo.Context, source api.Source) (Request, error) {
	ctx := c.Request().Context()
	principal, err := core.Caller(c)
	if err != nil {
		return Request{}, err
	}
	workflow, stored, err := prefetchedOf(ctx)
	if err != nil {
		return Request{}, err
	}
	if workflow.Definition, err = a.runs.Definition(ctx, principal.OrgID, workflow.Digest); err != nil {
		return Request{}, err
	}
	if err := principal.Require(api.RoleExecutor, "start runs"); err != nil {
		return Request{}, err
	}
	request := a.newRequest(c, Endpoint, principal, workflow, idempotency.KeyFrom(ctx), source)
	request.Stored = stored
	return request, nil
}

// newRequest makes the request of an authorized caller. It is the one place where requests are made.
func (a *API) newRequest(
	c echo.Context, endpoint idempotency.Endpoint, principal core.Principal, workflow validations.WorkflowRef,
	key idempotency.Key, source api.Source,
) Request {
	return Request{
		Endpoint: endpoint, Principal: principal, Workflow: workflow, Source: source,
		Version: PinnedVersion{Text: c.QueryParam("version"), Given: c.QueryParams().Has("version")},
		Key:     key, KeyLifetime: a.guard.Lifetime(principal),
		Caller: idempotency.CallerOf(c), ReceivedAt: core.ReceivedAt(c),
		Admit: func() error {
			return core.Admit(c, a.limit, principal.OrgID, "Your organization starts too many runs.")
		},
	}
}

// submit reads the body of an authorized start to its end and starts the run. A request that will be replayed only
// has to prove that it is the same, so nothing of its document is kept.
func (a *API) submit(c echo.Context, request Request) (Answer, error) {
	ctx := c.Request().Context()
	intake := new(validations.Intake)
	answered := request.Stored != nil && request.Stored.Finished()
	if !answered {
		intake = a.runs.NewIntake(request.Principal.OrgID)
	}
	var err error
	if request.Body, err = body.Read(c.Request(), a.limits, intake); err != nil {
		return discard(ctx, intake, err)
	}
	slow, err := core.ConfirmAfterBody(ctx)
	if err != nil {
		return discard(ctx, intake, err)
	}
	if slow {
		// The caller, the workflow and the key are as they are now: a token that was revoked, or a workflow that was
		// deactivated, long before the last byte starts nothing.
		now, err := a.authorize(c, request.Source)
		if err != nil {
			return discard(ctx, intake, err)
		}
		request.Workflow = now.Workflow
		if !answered {
			request.Stored = now.Stored
		}
	}
	return a.startOrDiscard(ctx, intake, request)
}

// Form is a form of the dashboard that starts a run. It brings its idempotency key itself.
type Form struct {
	Principal core.Principal
	Workflow  validations.WorkflowRef
	Key       idempotency.Key
	Body      body.Body
	// Intake has kept what was read of the document.
	Intake *validations.Intake
}

// SubmitForm starts the run of a form, once however often the form is sent.
func (a *API) SubmitForm(c echo.Context, form Form) (Answer, error) {
	ctx := c.Request().Context()
	slow, err := core.ConfirmAfterBody(ctx)
	workflow := form.Workflow
	if slow && err == nil {
		workflow, err = a.versions.FindVersion(ctx, form.Principal.OrgID, workflow.ID, workflow.Version)
	}
	if err != nil {
		return discard(ctx, form.Intake, err)
	}
	request := a.newRequest(c, Endpoint, form.Principal, workflow, form.Key, api.SourceDashboard)
	request.Body = form.Body
	if request.Stored, err = a.starter.Lookup(ctx, form.Principal.OrgID, Endpoint, form.Key); err != nil {
		return discard(ctx, form.Intake, err)
	}
	return a.startOrDiscard(ctx, form.Intake, request)
}

// discard refuses a request, and removes what was kept of its document.
func discard(ctx context.Context, intake *validations.Intake, err error) (Answer, error) {
	intake.Discard(ctx)
	return Answer{}, err
}

// startOrDiscard starts a run, and removes what was kept of its document when no run comes of it: also when the request
// was a replay or went on with the document of an earlier one.
func (a *API) startOrDiscard(ctx context.Context, intake *validations.Intake, request Request) (Answer, error) {
	answer, err := a.starter.Start(ctx, request)
	if err != nil || answer.Replayed || answer.OriginalRequestID != "" {
		intake.Discard(ctx)
	}
	return answer, err
}

// readTimeout bounds the reading of the run after the wait.
const readTimeout = 5 * time.Second

// writeWhenCompleted answers with the run as it is when it is completed or the wait is over. The stored response is the
// ordinary one all the same. It is also the answer when the run cannot be read, or may not be any more: nothing that
// happens later may deny the start.
func (a *API) writeWhenCompleted(
	c echo.Context, principal core.Principal, clients Clients, answer Answer, wait time.Duration,
) error {
	ctx := c.Request().Context()
	core.ClearReadDeadline(c)
	a.awaitEnd(ctx, principal.OrgID, answer, wait)
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	confirmed := make(chan error, 1)
	go func() { confirmed <- core.ConfirmAccess(ctx) }()
	run, err := clients.Show(ctx, principal.OrgID, principal.OrgSlug, answer.RunID)
	if <-confirmed != nil || err != nil {
		return answer.Write(c)
	}
	answer.WriteHeaders(c)
	c.Response().Header().Set("Preference-Applied", fmt.Sprintf("wait=%d", int(wait.Seconds())))
	return c.JSON(answer.Response.Status, run)
}

// awaitEnd returns when the run is completed, the wait is over, the client has gone or the process stops. It does not
// wait for a run of the workers that cannot be read.
func (a *API) awaitEnd(ctx context.Context, orgID uuid.UUID, answer Answer, wait time.Duration) {
	if answer.Executed == nil {
		run, err := a.runs.Find(ctx, orgID, answer.RunID)
		if err != nil || run.State == api.RunStateCompleted {
			return
		}
	}
	a.waiters.AwaitEnd(ctx, progress.RunKey{OrgID: orgID, ID: answer.RunID}, answer.Executed, wait)
}
