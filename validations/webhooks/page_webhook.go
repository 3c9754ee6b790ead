package webhooks

import (
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// webhookPage is one webhook with its deliveries.
type webhookPage struct {
	Webhook
	api.Page[api.Delivery]

	Attempts attempts
	Form     formView
	// States are the tabs of the list, and State the chosen one.
	States []pages.Choice
	State  string
	First  bool
	// Since is the time in the form that sends events again.
	Since   string
	Problem *core.Error
}

// WorkflowName is the name of the workflow whose events it gets.
func (p webhookPage) WorkflowName() string { return pages.Chosen(p.Form.Workflows) }

// webhookPage is GET /app/orgs/{org}/webhooks/{id}/.
func (a *App) webhookPage(c echo.Context, principal core.Principal, id uuid.UUID) error {
	w, err := a.service.find(c.Request().Context(), principal.OrgID, id)
	if err != nil {
		return err
	}
	return a.renderWebhook(c, http.StatusOK, principal, webhookPage{
		Webhook: w, Form: formView{webhookForm: formOf(w)}, Since: c.QueryParam("since"),
	})
}

// formOf is the form with what is stored.
func formOf(w Webhook) webhookForm {
	return webhookForm{
		URL: w.URL, Description: w.Description, EventTypes: w.EventTypes, Workflow: string(api.MaybeID(w.Workflow)),
	}
}

// renderWebhook fills in the rest of the page.
func (a *App) renderWebhook(c echo.Context, status int, principal core.Principal, page webhookPage) error {
	ctx, query := c.Request().Context(), &deliveriesQuery{}
	cursor, err := core.BindList(c, a.check, query)
	if err != nil {
		return err
	}
	deliveries, err := a.service.deliveries(ctx, principal.OrgID, page.ID, query.DeliveryFilter, cursor)
	if err != nil {
		return err
	}
	counted, err := a.service.attempts(ctx, principal.OrgID, page.ID)
	if err != nil {
		return err
	}
	if page.Form, err = a.newFormView(ctx, principal.OrgID, page.Form.webhookForm, nil); err != nil {
		return err
	}
	// A form that was refused has another address than the page.
	list := url.URL{Path: addressOf(principal, page.ID), RawQuery: c.Request().URL.RawQuery}
	page.Page = core.MapPage(core.NewPage(cursor, deliveries, uuid.Nil,
		func(d listedDelivery) uuid.UUID { return idOf(d.position) }, list),
		func(d listedDelivery) api.Delivery { return d.Delivery })
	page.Attempts = counted[page.ID]
	page.State, page.First = query.State, query.Cursor == ""
	page.States = pages.Choices(query.State, "", "All", "pending", "Pending", "failed", "Failed",
		"delivered", "Delivered")
	return a.pages.Render(c, status, "webhook", pages.Page{
		Title: page.URL, Section: pages.SectionWebhooks, Data: page,
	})
}

// refuse shows the page of the webhook again with what is wrong with one of its forms.
func (a *App) refuse(
	c echo.Context, principal core.Principal, id uuid.UUID, err error, fill func(*webhookPage),
) error {
	return pages.Refuse(c, err, func(c echo.Context, status int, problem *core.Error) error {
		w, err := a.service.find(c.Request().Context(), principal.OrgID, id)
		if err != nil {
			return err
		}
		page := webhookPage{Webhook: w, Form: formView{webhookForm: formOf(w)}, Problem: problem}
		fill(&page)
		return a.renderWebhook(c, status, principal, page)
	})
}

func addressOf(principal core.Principal, id uuid.UUID) string {
	return pages.Base(principal.OrgSlug) + "webhooks/" + id.String() + "/"
}

// changeForm is POST /app/orgs/{org}/webhooks/{id}/.
func (a *App) changeForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	form, wanted, err := a.readForm(c)
	if err == nil {
		_, err = a.service.change(c.Request().Context(), principal, id, change{draft: wanted})
	}
	if err != nil {
		return a.refuse(c, principal, id, err, func(page *webhookPage) { page.Form.webhookForm = form })
	}
	return pages.Redirect(c, addressOf(principal, id), "The webhook is changed.")
}

// enabledForm is POST /app/orgs/{org}/webhooks/{id}/enabled/. A webhook that is enabled leads to the form that sends it
// what it has missed.
func (a *App) enabledForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var form struct {
		Enabled bool `form:"enabled"`
	}
	if err := core.BindForm(c, a.check, &form); err != nil {
		return err
	}
	before, err := a.service.find(c.Request().Context(), principal.OrgID, id)
	if err != nil {
		return err
	}
	if _, err := a.service.change(c.Request().Context(), principal, id, change{Enabled: &form.Enabled}); err != nil {
		return err
	}
	address := addressOf(principal, id)
	switch since := before.missedSince(); {
	case !form.Enabled:
		return pages.Redirect(c, address, "The webhook is disabled. Events are kept, and can be sent to it later.")
	case since == "":
		return pages.Redirect(c, address, "The webhook is enabled.")
	default:
		return pages.Redirect(c, address+"?"+url.Values{"since": {since}}.Encode()+"#recover",
			"The webhook is enabled. Now send again what it has missed.")
	}
}

// missedSince is since when it may have missed events, as in a form; "" for one that works.
func (w Webhook) missedSince() string {
	since := w.FailingSince
	if since == nil || w.DisabledAt != nil && w.DisabledAt.Before(*since) {
		since = w.DisabledAt
	}
	return pages.TimeField(api.MaybeAt(since).String())
}

// rotateForm is POST /app/orgs/{org}/webhooks/{id}/rotate/.
func (a *App) rotateForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	rotated, secret, err := a.service.rotate(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	return a.renderSecret(c, rotated, secret)
}

// testForm is POST /app/orgs/{org}/webhooks/{id}/test/. It leads to the page of the event, which shows its attempts.
func (a *App) testForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	event, err := db.InTx(ctx, a.service.db, func(tx db.Tx) (Event, error) { return test(ctx, tx, principal, id) })
	if err != nil {
		return err
	}
	return pages.Redirect(c, addressOf(principal, id)+"deliveries/"+event.ID.String()+"/",
		"A test event is on its way.")
}

// deleteForm is POST /app/orgs/{org}/webhooks/{id}/delete/.
func (a *App) deleteForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.remove(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"webhooks/", "The webhook is deleted.")
}

// resendForm is POST /app/orgs/{org}/webhooks/{id}/resend/, for one event or for all since a time.
func (a *App) resendForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var form struct {
		Event string `form:"event" validate:"omitempty,uuid"`
		Since string `form:"since"`
	}
	ctx := c.Request().Context()
	err := core.BindForm(c, a.check, &form)
	wanted := resendDraft{Event: form.Event}
	if err == nil && form.Event == "" {
		wanted.Since, err = readSince(form.Since)
	}
	if err == nil {
		_, err = db.InTx(ctx, a.service.db, func(tx db.Tx) (Webhook, error) {
			return resendTo(ctx, tx, principal, id, wanted)
		})
	}
	if err != nil {
		return a.refuse(c, principal, id, err, func(page *webhookPage) { page.Since = form.Since })
	}
	if form.Event == "" {
		return pages.Redirect(c, addressOf(principal, id), "Events are being sent again.")
	}
	return pages.Redirect(c, addressOf(principal, id)+"deliveries/"+form.Event+"/", "The event is sent again.")
}

func readSince(text string) (*time.Time, error) {
	text, err := pages.ReadTime("since", text)
	if err != nil {
		return nil, err
	}
	since, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, core.InvalidParameter("since", "must be given").Because(err)
	}
	return &since, nil
}
