package workflows

import (
	"context"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/workflows/start"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// lookAgain is after how many seconds a browser asks again for what has become of a form.
const lookAgain = 2

// launchAny is GET /app/orgs/{org}/launch/: to the one workflow that starts runs, or to the choice of one.
func (a *App) launchAny(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	base := pages.Base(principal.OrgSlug)
	versions, err := a.service.list(c.Request().Context(), principal.OrgID, core.Cursor{Size: core.DefaultPageSize})
	if err != nil {
		return err
	}
	if len(versions) == 1 && versions[0].IsActive {
		return c.Redirect(http.StatusSeeOther, base+"workflows/"+versions[0].Slug+"/launch/")
	}
	var hint string
	if len(versions) > 0 && principal.Role.Allows(core.RoleExecutor) {
		hint = "Choose the workflow that is to check your document."
	}
	return pages.Redirect(c, base+"workflows/", hint)
}

// showLaunch is GET /app/orgs/{org}/workflows/{id}/launch/.
func (a *App) showLaunch(c echo.Context) error {
	principal, version, err := a.launchable(c)
	if err != nil {
		return err
	}
	return a.renderLaunch(c, http.StatusOK, principal, launchPage{Workflow: version})
}

// launchable returns the version of a workflow for somebody who may start runs.
func (a *App) launchable(c echo.Context) (core.Principal, Version, error) {
	principal, version, err := a.versionOf(c)
	if err != nil {
		return core.Principal{}, Version{}, err
	}
	return principal, version, principal.Require(core.RoleExecutor, "start runs")
}

// renderLaunch shows the form. One that was not sent yet gets its key.
func (a *App) renderLaunch(c echo.Context, status int, principal core.Principal, page launchPage) error {
	usage, err := a.usage.RunUsage(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	if page.Key == "" {
		if page.Key, err = idempotency.NewFormKey(); err != nil {
			return err
		}
	}
	page.Quota, page.MaxBytes = newQuotaTile(usage), a.limits.MaxBytes
	page.Action = launchAction(pages.Base(principal.OrgSlug), page.Workflow)
	page.Accept = acceptedFiles(page.Workflow.Definition.Accepts)
	page.MayEdit = principal.Role.Allows(core.RoleAuthor)
	return a.pages.Render(c, status, "launch", pages.Page{
		Title: "Run " + page.Workflow.Name, Section: pages.SectionWorkflows, Data: page,
	})
}

// launch is POST /app/orgs/{org}/workflows/{id}/launch/. However often a form is sent, it starts one run.
func (a *App) launch(c echo.Context) error {
	principal, version, err := a.launchable(c)
	if err != nil {
		return err
	}
	page := launchPage{Workflow: version}
	ctx := c.Request().Context()
	intake := a.runs.NewIntake(principal.OrgID)
	form, document, err := body.ReadForm(c.Request(), a.limits, version.Definition, intake)
	page.Entries = entriesOf(form)
	key, keyErr := a.guard.FormKey(principal, form.Text(idempotency.FormField))
	page.Key = key.Value
	if err == nil {
		err = keyErr
	}
	if err != nil {
		intake.Discard(ctx)
		return a.refuseLaunch(c, principal, page, err)
	}
	answer, err := a.starts.SubmitForm(c, start.Form{
		Principal: principal, Workflow: version.ref(), Key: key, Body: document, Intake: intake,
	})
	if err == nil && answer.Response.Status != http.StatusCreated {
		// The charge for a run beyond the quota was declined, and that is the key's answer for good.
		page.Key, err = "", users.PaymentRequired()
	}
	if err != nil {
		return a.refuseLaunch(c, principal, page, err)
	}
	notice := ""
	if answer.Replayed {
		notice = "This form had started this run before. Nothing was started again."
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"runs/"+answer.RunID.String()+"/", notice)
}

// refuseLaunch shows a form again that could not be worked on, or what has become of it.
func (a *App) refuseLaunch(c echo.Context, principal core.Principal, page launchPage, err error) error {
	switch refused := core.AsError(err); refused.Code {
	case core.CodeKeyInProgress, core.CodeOutcomeUnknown:
		address := pages.Base(principal.OrgSlug) + "workflows/" + page.Workflow.Slug + "/launch/" + page.Key + "/"
		return pages.Redirect(c, address, "")
	case core.CodeKeyReused:
		return a.renderLaunched(c, refused.Code.Spec().Status, "launch_reused", principal, page)
	default:
	}
	page.Problem = pages.Refusal(err)
	if page.Problem == nil {
		return err
	}
	return a.renderLaunch(c, pages.RefusalStatus(c, page.Problem), principal, page)
}

// showLaunched is GET /app/orgs/{org}/workflows/{id}/launch/{key}/: what has become of a form whose answer is missing.
func (a *App) showLaunched(c echo.Context) error {
	principal, version, err := a.launchable(c)
	if err != nil {
		return err
	}
	key, err := a.guard.FormKey(principal, c.Param("key"))
	if err != nil {
		return core.NotFound("form").Because(err)
	}
	form := launchPage{Workflow: version, Key: key.Value}
	return a.renderLaunched(c, http.StatusOK, "launch_pending", principal, form)
}

// renderLaunched shows what has become of a form. One that has just started its run leads there.
func (a *App) renderLaunched(
	c echo.Context, status int, name string, principal core.Principal, form launchPage,
) error {
	started, pending, err := a.launched(c.Request().Context(), principal, form.Key)
	if err != nil {
		return err
	}
	if started != nil && status == http.StatusOK {
		return pages.Redirect(c, pages.Base(principal.OrgSlug)+"runs/"+started.String()+"/", "")
	}
	if pending {
		c.Response().Header().Set("Refresh", strconv.Itoa(lookAgain))
	}
	return a.pages.Render(c, status, name, pages.Page{
		Title: "Run " + form.Workflow.Name, Section: pages.SectionWorkflows,
		Data: launchedPage{Workflow: form.Workflow, RunID: started, Pending: pending},
	})
}

// launched returns the run that a form has started, and whether the form is still being worked on.
func (a *App) launched(ctx context.Context, principal core.Principal, key string) (*uuid.UUID, bool, error) {
	record, err := a.starter.Lookup(ctx, principal.OrgID, start.Endpoint, idempotency.Key{Value: key, Given: true})
	if err != nil || record == nil {
		return nil, false, err
	}
	if record.Finished() && record.Response.Status == http.StatusCreated {
		return &record.Subject, false, nil
	}
	return nil, !record.Finished(), nil
}
