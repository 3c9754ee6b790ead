package webhooks

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// webhookPage is one webhook with its deliveries.
type webhookPage struct {
	Webhook
	api.Page[api.Delivery]

	Attempts attempts
	Form     formView
	// Tabs are those of the list by the state of deliveries, and Tab the chosen one.
	Tabs  []pages.Choice
	Tab   string
	First bool
	// Since is the time in the form that sends events again.
	Since   string
	Problem *core.Error
}

// WorkflowName is the name of the workflow whose events it gets.
func (p webhookPage) WorkflowName() string { return pages.Chosen(p.Form.Workflows) }

// webhookPage is GET /app/orgs/{org}/webhooks/{id}/.
func (a *App) webhookPage(c echo.Context, principal core.Principal, id uuid.UUID) error {
	return a.renderWebhook(c, http.StatusOK, principal, id, webhookPage{Since: c.QueryParam("since")})
}

// renderWebhook fills in the rest of the page. A form that was not sent has what is stored.
func (a *App) renderWebhook(
	c echo.Context, status int, principal core.Principal, id uuid.UUID, page webhookPage,
) error {
	ctx, query := c.Request().Context(), &deliveriesQuery{}
	cursor, err := core.BindList(c, a.check, query)
	if err != nil {
		return err
	}
	if page.Webhook, err = a.service.find(ctx, principal.OrgID, id); err != nil {
		return err
	}
	deliveries, err := a.service.deliveries(ctx, principal.OrgID, id, query.DeliveryFilter, cursor)
	if err != nil {
		return err
	}
	counted, err := a.service.attempts(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	if page.Form.webhookForm == nil {
		page.Form.webhookForm = &webhookForm{NewDraft: NewDraft{Draft: page.draft()}}
	}
	if page.Form, err = a.newFormView(ctx, principal.OrgID, page.Form.webhookForm); err != nil {
		return err
	}
	page.Form.Stored = page.Headers
	// A form that was refused has another address than the page.
	list := url.URL{Path: addressOf(principal, id), RawQuery: c.Request().URL.RawQuery}
	page.Page = core.NewPage(cursor, deliveries, uuid.Nil, deliveryID, list)
	page.Attempts = counted[page.ID]
	page.Tab, page.First = query.State, query.Cursor == ""
	page.Tabs = pages.Choices(query.State, "", "All", "pending", "Pending", "failed", "Failed",
		"delivered", "Delivered")
	if page.Since == "" && page.Problem == nil {
		page.Since = page.missedSince()
	}
	return a.pages.Render(c, status, "webhook", pages.Page{
		Title: page.URL, Section: pages.SectionWebhooks, Data: page,
	})
}

// missedSince is since when the receiver may have missed something, as in a form; "" if nothing tells. The first events
// that it has missed are older than what is known of their attempts.
func (p webhookPage) missedSince() string {
	known := []api.Time{p.FailingSince, p.DisabledAt}
	for _, delivery := range p.Results {
		if delivery.State == api.DeliveryStateFailed {
			known = append(known, delivery.Timestamp)
		}
	}
	known = slices.DeleteFunc(known, func(at api.Time) bool { return at.IsZero() })
	if len(known) == 0 {
		return ""
	}
	first := slices.MinFunc(known, func(a, b api.Time) int { return a.Compare(b.Time) })
	return pages.TimeField(first.Add(-time.Minute).Format(time.RFC3339))
}

// refuse shows the page of the webhook again with what is wrong with one of its forms.
func (a *App) refuse(c echo.Context, principal core.Principal, id uuid.UUID, err error, page webhookPage) error {
	return pages.Refuse(c, err, func(c echo.Context, status int, problem *core.Error) error {
		page.Problem = problem
		return a.renderWebhook(c, status, principal, id, page)
	})
}

func addressOf(principal core.Principal, id uuid.UUID) string {
	return pages.Base(principal.OrgSlug) + "webhooks/" + id.String() + "/"
}

// changeForm is POST /app/orgs/{org}/webhooks/{id}/.
func (a *App) changeForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	form, err := a.readForm(c)
	if err == nil {
		_, err = a.service.change(c.Request().Context(), principal, id, func(stored *change) error {
			stored.Draft = form.Draft
			return nil
		})
	}
	if err != nil {
		return a.refuse(c, principal, id, err, webhookPage{Form: formView{webhookForm: form}})
	}
	return pages.Redirect(c, addressOf(principal, id), "The webhook is changed.")
}

// enabledForm is POST /app/orgs/{org}/webhooks/{id}/enabled/. A webhook that is enabled leads to the form that sends it
// what it has missed.
func (a *App) enabledForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var form struct {
		Enabled bool   `form:"enabled"`
		Since   string `form:"since"`
	}
	if err := core.BindForm(c, a.check, &form); err != nil {
		return err
	}
	_, err := a.service.change(c.Request().Context(), principal, id, func(stored *change) error {
		stored.Enabled = &form.Enabled
		return nil
	})
	if err != nil {
		return err
	}
	if !form.Enabled {
		return pages.Redirect(c, addressOf(principal, id),
			"The webhook is disabled. Events are kept, and can be sent to it later.")
	}
	return pages.Redirect(c, addressOf(principal, id)+"?"+url.Values{"since": {form.Since}}.Encode()+"#recover",
		"The webhook is enabled. Now send again what it has missed.")
}

// once does the work of a form once, however often it is sent.
func (a *App) once(
	c echo.Context, principal core.Principal, operation idempotency.Operation, work idempotency.Work,
) (idempotency.Answer, error) {
	key, err := a.guard.FormKey(principal, c.FormValue(idempotency.FormField))
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.guard.Do(c, key, operation, work)
}

// testForm is POST /app/orgs/{org}/webhooks/{id}/test/. It leads to the page of the event, which shows its attempts.
func (a *App) testForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	operation, work := testOnce(principal, id)
	answer, err := a.once(c, principal, operation, work)
	var event api.Event
	if err == nil {
		err = json.Unmarshal(answer.Response.Body, &event)
	}
	if err != nil {
		return a.refuse(c, principal, id, err, webhookPage{})
	}
	return pages.Redirect(c, addressOf(principal, id)+"deliveries/"+event.ID+"/", "A test event is on its way.")
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
	err := core.BindForm(c, a.check, &form)
	wanted := resendDraft{Event: form.Event}
	if err == nil && form.Event == "" {
		wanted.Since, err = readSince(form.Since)
	}
	if err == nil {
		operation, work := resendOnce(principal, id, wanted)
		_, err = a.once(c, principal, operation, work)
	}
	if err != nil {
		return a.refuse(c, principal, id, err, webhookPage{Since: form.Since})
	}
	if form.Event == "" {
		return pages.Redirect(c, addressOf(principal, id)+"#recover", "Events are being sent again.")
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
