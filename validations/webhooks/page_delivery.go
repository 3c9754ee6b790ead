package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// deliveryPage is an event with its attempts to reach a webhook.
type deliveryPage struct {
	Webhook

	Event api.Event
	// Body is what is sent, indented.
	Body string
	// Delivery is nil if the webhook has not got the event.
	Delivery *api.Delivery
	// Unpublished is set while the event has no place in the list yet.
	Unpublished bool
}

// deliveryPage is GET /app/orgs/{org}/webhooks/{id}/deliveries/{event}/.
func (a *App) deliveryPage(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	w, err := a.service.find(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	eventID, wellFormed := core.ParseID(c.Param("event"))
	if !wellFormed {
		return core.NotFound("event")
	}
	event, err := a.service.findEvent(ctx, principal.OrgID, eventID)
	if err != nil {
		return err
	}
	found, err := a.service.deliveries(ctx, principal.OrgID, id, DeliveryFilter{Event: eventID.String()},
		core.Cursor{Size: 1})
	if err != nil {
		return err
	}
	page := deliveryPage{Webhook: w, Event: event.Event, Unpublished: event.Position == 0}
	if len(found) > 0 {
		page.Delivery = &found[0]
	}
	body, err := json.MarshalIndent(page.Event, "", "  ")
	if err != nil {
		return fmt.Errorf("render event %s: %w", event.ID, err)
	}
	page.Body = string(body)
	return a.pages.Render(c, http.StatusOK, "delivery", pages.Page{
		Title: string(event.Type), Section: pages.SectionWebhooks, Data: page,
	})
}
