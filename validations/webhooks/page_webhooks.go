package webhooks

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	org := web.Group(pages.OrgRoute)
	admin := func(view core.View) echo.HandlerFunc { return core.As(api.RoleAdmin, manage, view) }
	org.GET("/webhooks/", admin(a.webhooksPage))
	// A webhook outlives its session, so whoever has stolen a session must not lead events elsewhere.
	org.POST("/webhooks/", admin(a.recent(a.createForm)))
	org.GET("/webhooks/:id/", admin(onWebhook(a.webhookPage)))
	org.POST("/webhooks/:id/", admin(a.recent(onWebhook(a.changeForm))))
	org.POST("/webhooks/:id/enabled/", admin(onWebhook(a.enabledForm)))
	org.POST("/webhooks/:id/rotate/", admin(a.recent(onWebhook(a.rotate(a.renderSecret)))))
	org.POST("/webhooks/:id/test/", admin(onWebhook(a.testForm)))
	org.POST("/webhooks/:id/resend/", admin(onWebhook(a.resendForm)))
	org.POST("/webhooks/:id/delete/", admin(onWebhook(a.deleteForm)))
	org.GET("/webhooks/:id/deliveries/:event/", admin(onWebhook(a.deliveryPage)))
}

// webhookForm is what people choose of a webhook on its page.
type webhookForm struct {
	NewDraft

	// Lines are headers. They replace those that are stored, unless there are none; NoHeaders removes those.
	Lines     string `form:"headers"`
	NoHeaders bool   `form:"no_headers"`
}

// readForm returns the form even if it is refused, so that the page can show what was entered.
func (a *App) readForm(c echo.Context) (*webhookForm, error) {
	form := &webhookForm{}
	err := core.BindForm(c, a.check, form)
	if headers := engines.ReadHeaders(form.Lines); form.NoHeaders || len(headers) > 0 {
		form.Headers = headers
	}
	return form, err
}

// formView is the form as it was filled in.
type formView struct {
	*webhookForm

	Types, Workflows, Signatures []pages.Choice
	// Stored are the names of the headers that are stored.
	Stored []string
}

func (a *App) newFormView(ctx context.Context, orgID uuid.UUID, form *webhookForm) (formView, error) {
	names, err := a.workflows.Names(ctx, orgID)
	if err != nil {
		return formView{}, err
	}
	workflows, chosen := []string{"", "All workflows"}, string(form.Workflow)
	for _, name := range names {
		workflows = append(workflows, name.ID.String(), name.Name)
	}
	if !slices.Contains(workflows, chosen) {
		workflows = append(workflows, chosen, chosen)
	}
	return formView{
		webhookForm: form, Types: eventTypes(form.EventTypes), Workflows: pages.Choices(chosen, workflows...),
		Signatures: pages.Choices(string(form.Signature),
			string(api.SignatureSchemeV1), "v1: a shared secret (HMAC-SHA256)",
			string(api.SignatureSchemeV1a), "v1a: a public key (Ed25519)"),
	}, nil
}

// eventTypes are the types that a webhook may want.
func eventTypes(chosen []api.EventType) []pages.Choice {
	choices := pages.Choices("",
		string(api.EventTypeRunCompleted), "a run has ended with a result",
		string(api.EventTypeRunCanceled), "a run was canceled",
		string(api.EventTypeQuotaReached), "80 or 100 % of the quota is used",
		string(api.EventTypeUsageOverageCharged), "a run beyond the quota was charged",
		string(api.EventTypeKeyAbandoned), "a request with a key was interrupted",
		string(api.EventTypeWorkflowVersionPublished), "a workflow has a new version",
		string(api.EventTypeEndpointDisabled), "the service has disabled a webhook")
	for i := range choices {
		choices[i].Chosen = slices.Contains(chosen, api.EventType(choices[i].Value))
	}
	return choices
}

// Pill is the state of the webhook.
func (w Webhook) Pill() pages.Pill {
	switch {
	case w.DisabledReason != "":
		return pages.NewPill("fail", "disabled")
	case w.State == api.WebhookStateDisabled:
		return pages.NewPill("idle", "disabled")
	case w.Failing:
		return pages.NewPill("warn", "failing")
	case !w.FailingSince.IsZero():
		return pages.NewPill("run", "retrying")
	default:
		return pages.NewPill("ok", "active")
	}
}

// webhooksPage lists the webhooks, with the form for a new one.
type webhooksPage struct {
	Webhooks []webhookRow
	// Troubled is how many need attention.
	Troubled int64
	Form     formView
	Problem  *core.Error
	// Run is the id of the run whose events are listed; "" for none.
	Run    string
	Events []Event
}

// webhookRow is a webhook as the page lists it.
type webhookRow struct {
	Webhook

	Attempts attempts
}

// webhooksPage is GET /app/orgs/{org}/webhooks/.
func (a *App) webhooksPage(c echo.Context, principal core.Principal) error {
	return a.renderWebhooks(c, http.StatusOK, principal, &webhookForm{}, nil)
}

func (a *App) renderWebhooks(
	c echo.Context, status int, principal core.Principal, form *webhookForm, problem *core.Error,
) error {
	ctx := c.Request().Context()
	found, err := a.service.list(ctx, principal.OrgID, core.Cursor{Size: MaxWebhooks})
	if err != nil {
		return err
	}
	attempts, err := a.service.attempts(ctx, principal.OrgID, uuid.Nil)
	if err != nil {
		return err
	}
	page := webhooksPage{Problem: problem}
	for _, w := range found {
		page.Webhooks = append(page.Webhooks, webhookRow{Webhook: w, Attempts: attempts[w.ID]})
	}
	if page.Troubled, err = a.service.Troubled(ctx, principal.OrgID); err != nil {
		return err
	}
	if page.Form, err = a.newFormView(ctx, principal.OrgID, form); err != nil {
		return err
	}
	if run, given := core.ParseID(c.QueryParam("run")); given {
		page.Run = run.String()
		filter := EventFilter{Run: page.Run}
		if page.Events, err = a.service.events(ctx, principal.OrgID, 0, filter, core.MaxPageSize); err != nil {
			return err
		}
	}
	return a.pages.Render(c, status, "webhooks", pages.Page{
		Title: "Webhooks", Section: pages.SectionWebhooks, Data: page,
	})
}

// createForm is POST /app/orgs/{org}/webhooks/. Sent twice, it is refused: there is one webhook for a URL.
func (a *App) createForm(c echo.Context, principal core.Principal) error {
	form, err := a.readForm(c)
	var made Webhook
	var secret []byte
	if err == nil {
		made, secret, err = a.service.create(c.Request().Context(), principal, form.NewDraft)
	}
	if err != nil {
		return pages.Refuse(c, err, func(c echo.Context, status int, problem *core.Error) error {
			return a.renderWebhooks(c, status, principal, form, problem)
		})
	}
	return a.renderSecret(c, made, secret)
}

// secretPage shows a secret. It is not shown again.
type secretPage struct {
	Webhook

	Secret string
}

// renderSecret shows a secret, which neither the browser nor a proxy may store.
func (a *App) renderSecret(c echo.Context, w Webhook, secret []byte) error {
	return a.pages.Render(c, http.StatusCreated, "webhook_secret", pages.Page{
		Title: "Secret of a webhook", Section: pages.SectionWebhooks,
		Data: secretPage{Webhook: w, Secret: shownSecret(w.Signature, secret)},
	})
}
