package webhooks

import (
	"context"
	"embed"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
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
	// maxBytes bounds the bodies of this app.
	maxBytes = 64 << 10
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
	routes.GET("/events/:id/", core.As(viewer, "see events", core.OfID("event", a.readEvent)))
	routes.GET("/webhooks/", core.As(admin, manage, a.list))
	routes.POST("/webhooks/", core.As(admin, manage, a.create))
	routes.GET("/webhooks/:id/", core.As(admin, manage, onWebhook(a.read)))
	routes.PATCH("/webhooks/:id/", core.As(admin, manage, onWebhook(a.change)))
	routes.DELETE("/webhooks/:id/", core.As(admin, manage, onWebhook(a.remove)))
	routes.POST("/webhooks/:id/rotate/", core.As(admin, manage, onWebhook(a.rotate(answerSecret))))
	routes.POST("/webhooks/:id/test/", core.As(admin, manage, onWebhook(a.test)), a.guard.Keyed)
	routes.POST("/webhooks/:id/resend/", core.As(admin, manage, onWebhook(a.resend)), a.guard.Keyed)
	routes.GET("/webhooks/:id/deliveries/", core.As(admin, manage, onWebhook(a.listDeliveries)))
}

func onWebhook(view core.ViewOf) core.View { return core.OfID("webhook", view) }

// answerSecret answers with a secret, which no cache may store.
func answerSecret(c echo.Context, w Webhook, secret []byte) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusCreated, api.WebhookSecret{Webhook: w.Webhook, Secret: shownSecret(w.Signature, secret)})
}

// list is GET /api/webhooks/.
func (a *App) list(c echo.Context, principal core.Principal) error {
	page, err := core.ReadPage(c, a.check, &core.PageQuery{}, func(w Webhook) uuid.UUID { return uuid.MustParse(w.ID) },
		func(ctx context.Context, cursor core.Cursor) ([]Webhook, error) {
			return a.service.list(ctx, principal.OrgID, cursor)
		})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, func(w Webhook) api.Webhook { return w.Webhook }))
}

// create is POST /api/webhooks/. It takes no key: the answer holds a secret.
func (a *App) create(c echo.Context, principal core.Principal) error {
	var wanted NewDraft
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
	return c.JSON(http.StatusOK, found.Webhook)
}

// change is PATCH /api/webhooks/{id}/. Repeating it changes nothing.
func (a *App) change(c echo.Context, principal core.Principal, id uuid.UUID) error {
	body, err := core.ReadJSON(c, a.check, maxBytes, &change{})
	if err != nil {
		return err
	}
	changed, err := a.service.change(c.Request().Context(), principal, id, func(wanted *change) error {
		return json.Unmarshal(body, wanted)
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, changed.Webhook)
}

// remove is DELETE /api/webhooks/{id}/.
func (a *App) remove(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.remove(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// rotate is POST /api/webhooks/{id}/rotate/, and the form of the page. It takes no key: the answer holds a secret.
func (a *App) rotate(answer func(c echo.Context, w Webhook, secret []byte) error) core.ViewOf {
	return func(c echo.Context, principal core.Principal, id uuid.UUID) error {
		rotated, secret, err := a.service.rotate(c.Request().Context(), principal, id)
		if err != nil {
			return err
		}
		return answer(c, rotated, secret)
	}
}

// test is POST /api/webhooks/{id}/test/.
func (a *App) test(c echo.Context, principal core.Principal, id uuid.UUID) error {
	operation, work := testOnce(principal, id)
	return a.guard.Once(c, operation, work)
}

// testOnce is the sending of a test event.
func testOnce(principal core.Principal, id uuid.UUID) (idempotency.Operation, idempotency.Work) {
	return idempotency.Operation{Endpoint: endpointTest, Target: id.String()},
		func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
			event, err := test(ctx, tx.Tx, principal, id)
			if err != nil {
				return idempotency.Response{}, err
			}
			return idempotency.JSONResponse(http.StatusAccepted, event.Event)
		}
}

// resendDraft is what is sent again, one of both.
type resendDraft struct {
	Event string     `json:"event" validate:"required_without=Since,excluded_with=Since,omitempty,uuid"`
	Since *time.Time `json:"since"`
}

// resend is POST /api/webhooks/{id}/resend/.
func (a *App) resend(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var wanted resendDraft
	if _, err := core.ReadJSON(c, a.check, maxBytes, &wanted); err != nil {
		return err
	}
	operation, work := resendOnce(principal, id, wanted)
	return a.guard.Once(c, operation, work)
}

// resendOnce makes what is wanted due for the webhook.
func resendOnce(
	principal core.Principal, id uuid.UUID, wanted resendDraft,
) (idempotency.Operation, idempotency.Work) {
	content := idempotency.DigestBytes(fmt.Append(nil, wanted.Event, api.MaybeAt(wanted.Since)))
	return idempotency.Operation{Endpoint: endpointResend, Target: id.String(), Content: content},
		func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
			w, err := lock(ctx, tx.Tx, principal.OrgID, id)
			switch {
			case err != nil:
			case wanted.Since != nil:
				w, err = resendSince(ctx, tx.Tx, principal.OrgID, id, *wanted.Since)
			default:
				w, err = resendOne(ctx, tx.Tx, principal.OrgID, id, wanted.Event)
			}
			if err == nil {
				err = audit(ctx, tx.Tx, principal, "resend", w)
			}
			if err != nil {
				return idempotency.Response{}, err
			}
			return idempotency.JSONResponse(http.StatusAccepted, w.Webhook)
		}
}

func deliveryID(d api.Delivery) uuid.UUID { return uuid.MustParse(d.Event) }

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
	page, err := core.ReadPage(c, a.check, query, deliveryID,
		func(ctx context.Context, cursor core.Cursor) ([]api.Delivery, error) {
			return a.service.deliveries(ctx, principal.OrgID, id, query.DeliveryFilter, cursor)
		})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}

// eventsQuery is the query of the list of events. Its cursor is not used: an event is its own.
type eventsQuery struct {
	core.PageQuery
	EventFilter
}

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
	page := api.Page[Event]{Results: found[:min(len(found), cursor.Size)]}
	if len(found) > cursor.Size {
		query := c.QueryParams()
		query.Set("after", found[cursor.Size-1].ID)
		page.Next = api.Optional(c.Request().URL.Path + "?" + query.Encode())
	}
	return c.JSON(http.StatusOK, core.MapPage(page, func(e Event) api.Event { return e.Event }))
}

// readEvent is GET /api/events/{id}/.
func (a *App) readEvent(c echo.Context, principal core.Principal, id uuid.UUID) error {
	event, err := a.service.findEvent(c.Request().Context(), principal.OrgID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, event.Event)
}
