package webhooks

import (
	"context"
	"embed"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
)

//go:embed templates/webhooks/*.html
var templates embed.FS

const (
	// maxBytes bounds the bodies of this app, and maxDepth how deep they nest.
	maxBytes = 64 << 10
	maxDepth = 10
	// manage is what administrators may do.
	manage = "manage webhooks"
)

// The endpoints of idempotency keys.
const (
	endpointTest   = "webhooks.test"
	endpointResend = "webhooks.resend"
)

// Operations names the operations that take a key.
func Operations() idempotency.Operations {
	return idempotency.Operations{
		endpointTest:   {Title: "Test a webhook", Target: "webhook"},
		endpointResend: {Title: "Send events again", Target: "webhook"},
	}
}

// Workflows knows the workflows of an organization.
type Workflows interface {
	// Names returns their names in alphabetical order, up to a limit.
	Names(ctx context.Context, orgID uuid.UUID) ([]validations.WorkflowName, error)
}

// App is the API and the pages of webhooks and events.
type App struct {
	service   *Service
	guard     *idempotency.Guard
	check     *core.Validator
	workflows Workflows
	// recent protects a view whose visitor has to confirm who they are (signin.App).
	recent func(core.View) core.View
	pages  *pages.Set
}

// New makes the app.
func New(
	service *Service, guard *idempotency.Guard, check *core.Validator, workflows Workflows,
	recent func(core.View) core.View,
) (*App, error) {
	set, err := pages.Parse(templates, "templates/webhooks")
	if err != nil {
		return nil, err
	}
	return &App{service: service, guard: guard, check: check, workflows: workflows, recent: recent, pages: set}, nil
}

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(routes *core.Routes) {
	const viewer, admin = api.RoleViewer, api.RoleAdmin
	routes.GET("/events/", core.As(viewer, "list events", a.listEvents))
	routes.GET("/events/:id/", core.As(viewer, "see events", a.readEvent))
	routes.GET("/webhooks/", core.As(admin, manage, a.list))
	routes.POST("/webhooks/", core.As(admin, manage, a.create))
	routes.GET("/webhooks/:id/", core.As(admin, manage, a.onWebhook(a.read)))
	routes.PATCH("/webhooks/:id/", core.As(admin, manage, a.onWebhook(a.change)))
	routes.DELETE("/webhooks/:id/", core.As(admin, manage, a.onWebhook(a.remove)))
	routes.POST("/webhooks/:id/rotate/", core.As(admin, manage, a.onWebhook(a.rotate)))
	routes.POST("/webhooks/:id/test/", core.As(admin, manage, a.onWebhook(a.test)), a.guard.Keyed)
	routes.POST("/webhooks/:id/resend/", core.As(admin, manage, a.onWebhook(a.resend)), a.guard.Keyed)
	routes.GET("/webhooks/:id/deliveries/", core.As(admin, manage, a.onWebhook(a.listDeliveries)))
}

// onWebhook reads the id of the address.
func (a *App) onWebhook(view func(c echo.Context, principal core.Principal, id uuid.UUID) error) core.View {
	return func(c echo.Context, principal core.Principal) error {
		id, err := core.PathID(c, "webhook")
		if err != nil {
			return err
		}
		return view(c, principal, id)
	}
}

func render(w Webhook) api.Webhook {
	state := api.WebhookStateActive
	if w.DisabledAt != nil {
		state = api.WebhookStateDisabled
	}
	return api.Webhook{
		ID: w.ID.String(), URL: w.URL, Description: w.Description, EventTypes: w.EventTypes,
		Workflow: api.MaybeID(w.Workflow), Signature: w.Signature, Headers: w.Headers, State: state,
		DisabledReason: w.DisabledReason, DisabledAt: api.MaybeAt(w.DisabledAt),
		FailingSince: api.MaybeAt(w.FailingSince), SecretRotatedAt: api.MaybeAt(w.RotatedAt),
		Recovering: api.MaybeAt(w.Resending), CreatedAt: api.At(w.CreatedAt),
	}
}

// answerSecret answers with a secret, which no cache may store.
func answerSecret(c echo.Context, w Webhook, secret []byte) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusCreated, api.WebhookSecret{Webhook: render(w), Secret: shownSecret(w.Signature, secret)})
}

// list is GET /api/webhooks/.
func (a *App) list(c echo.Context, principal core.Principal) error {
	page, err := core.ReadPage(c, a.check, &core.PageQuery{}, func(w Webhook) uuid.UUID { return w.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Webhook, error) {
			return a.service.list(ctx, principal.OrgID, cursor)
		})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, render))
}

// create is POST /api/webhooks/. It takes no key: the answer holds a secret.
func (a *App) create(c echo.Context, principal core.Principal) error {
	var wanted newDraft
	if _, err := core.ReadJSON(c, a.check, maxBytes, &wanted); err != nil {
		return err
	}
	made, secret, err := a.service.create(c.Request().Context(), principal, wanted)
	if err != nil {
		return err
	}
	return answerSecret(c, made, secret)
}

// read is GET /api/webhooks/{id}/.
func (a *App) read(c echo.Context, principal core.Principal, id uuid.UUID) error {
	found, err := a.service.find(c.Request().Context(), principal.OrgID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, render(found))
}

// change is PATCH /api/webhooks/{id}/. Repeating it changes nothing.
func (a *App) change(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var wanted change
	if _, err := core.ReadJSON(c, a.check, maxBytes, &wanted); err != nil {
		return err
	}
	changed, err := a.service.change(c.Request().Context(), principal, id, wanted)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, render(changed))
}

// remove is DELETE /api/webhooks/{id}/.
func (a *App) remove(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.remove(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// rotate is POST /api/webhooks/{id}/rotate/. It takes no key: the answer holds a secret.
func (a *App) rotate(c echo.Context, principal core.Principal, id uuid.UUID) error {
	rotated, secret, err := a.service.rotate(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	return answerSecret(c, rotated, secret)
}

// test is POST /api/webhooks/{id}/test/.
func (a *App) test(c echo.Context, principal core.Principal, id uuid.UUID) error {
	operation := idempotency.Operation{Endpoint: endpointTest, Target: id.String()}
	return a.guard.Once(c, operation, func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
		event, err := test(ctx, tx.Tx, principal, id)
		if err != nil {
			return idempotency.Response{}, err
		}
		return idempotency.JSONResponse(http.StatusAccepted, event.render())
	})
}

// resendDraft is what is sent again, one of both.
type resendDraft struct {
	Event string     `json:"event" validate:"required_without=Since,excluded_with=Since,omitempty,uuid"`
	Since *time.Time `json:"since"`
}

// resend is POST /api/webhooks/{id}/resend/.
func (a *App) resend(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var wanted resendDraft
	body, err := core.ReadJSON(c, a.check, maxBytes, &wanted)
	if err != nil {
		return err
	}
	content, err := idempotency.DigestJSON(body, maxDepth)
	if err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: endpointResend, Target: id.String(), Content: content}
	return a.guard.Once(c, operation, func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
		changed, err := resendTo(ctx, tx.Tx, principal, id, wanted)
		if err != nil {
			return idempotency.Response{}, err
		}
		return idempotency.JSONResponse(http.StatusAccepted, render(changed))
	})
}

// resendTo makes what is wanted due for the webhook, and audits it.
func resendTo(
	ctx context.Context, tx db.Tx, principal core.Principal, id uuid.UUID, wanted resendDraft,
) (Webhook, error) {
	w, err := lock(ctx, tx, principal.OrgID, id)
	if err != nil {
		return Webhook{}, err
	}
	if wanted.Since != nil {
		err = resendSince(ctx, tx, principal.OrgID, id, *wanted.Since)
	} else {
		err = resendOne(ctx, tx, principal.OrgID, id, uuid.MustParse(wanted.Event))
	}
	if err != nil {
		return Webhook{}, err
	}
	record, err := audited(ctx, principal, "resend", w)
	if err != nil {
		return Webhook{}, err
	}
	batch := tx.NewBatch()
	core.Audit(batch, record)
	if err := batch.Send(ctx); err != nil {
		return Webhook{}, err
	}
	return lock(ctx, tx, principal.OrgID, id)
}

// deliveriesQuery is the query of a webhook's deliveries.
type deliveriesQuery struct {
	core.PageQuery
	DeliveryFilter
}

// listDeliveries is GET /api/webhooks/{id}/deliveries/.
func (a *App) listDeliveries(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if _, err := a.service.find(c.Request().Context(), principal.OrgID, id); err != nil {
		return err
	}
	query := &deliveriesQuery{}
	page, err := core.ReadPage(c, a.check, query, func(d listedDelivery) uuid.UUID { return idOf(d.position) },
		func(ctx context.Context, cursor core.Cursor) ([]listedDelivery, error) {
			return a.service.deliveries(ctx, principal.OrgID, id, query.DeliveryFilter, cursor)
		})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, func(d listedDelivery) api.Delivery { return d.Delivery }))
}

// eventsQuery is the query of the list of events. It has no cursor: an event is its own.
type eventsQuery struct {
	Size string `query:"page_size"`
	EventFilter
}

// Parse reads the size of the page.
func (q *eventsQuery) Parse() (core.Cursor, error) { return core.PageQuery{Size: q.Size}.Parse() }

// listEvents is GET /api/events/.
func (a *App) listEvents(c echo.Context, principal core.Principal) error {
	var query eventsQuery
	cursor, err := core.BindList(c, a.check, &query)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	var after Event
	if query.After != "" {
		after, err = a.service.findEvent(ctx, principal.OrgID, uuid.MustParse(query.After))
		if err != nil {
			return err
		}
		if after.Position == 0 {
			// It is so new that it has no place in the list yet.
			return core.NotFound("event")
		}
	}
	found, err := a.service.events(ctx, principal.OrgID, after.Position, query.EventFilter, cursor.Size+1)
	if err != nil {
		return err
	}
	page := api.Page[api.Event]{Results: []api.Event{}}
	for _, event := range found[:min(len(found), cursor.Size)] {
		page.Results = append(page.Results, event.render())
	}
	if len(found) > cursor.Size {
		page.Next = following(*c.Request().URL, found[cursor.Size-1].ID)
	}
	return c.JSON(http.StatusOK, page)
}

// following is the address of the page behind an event.
func following(address url.URL, after uuid.UUID) api.Optional {
	query := address.Query()
	query.Set("after", after.String())
	return api.Optional((&url.URL{Path: address.Path, RawQuery: query.Encode()}).String())
}

// readEvent is GET /api/events/{id}/.
func (a *App) readEvent(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "event")
	if err != nil {
		return err
	}
	event, err := a.service.findEvent(c.Request().Context(), principal.OrgID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, event.render())
}
