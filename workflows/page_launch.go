package workflows

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/workflows/start"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// lookAgain is how many seconds a browser waits before it reloads the page of a pending form.
const lookAgain = 2

// launchPage is the form that starts a run.
type launchPage struct {
	Workflow Version
	// Action is where the form is sent to. It pins the version that the page shows.
	Action string
	// Key is the idempotency key of this one form.
	Key string
	// Accept lists the media types and the endings of names that the workflow takes, for the choice of files.
	Accept   string
	MaxBytes int64
	Quota    quota.PeriodUsage
	MayEdit  bool
	Entries  launchEntries
	Problem  *core.Error
}

// launchEntries are the fields that a visitor has filled in, without the file: no browser lets a page fill that in
// again.
type launchEntries struct {
	Name             string
	ShortDescription string
	Filename         string
	Text             string
	// TextTooLong is set if the pasted text was too long to be shown in the form again.
	TextTooLong bool
}

// Ready reports whether the workflow starts runs.
func (p launchPage) Ready() bool {
	return p.Workflow.IsActive && len(p.Workflow.Definition.Steps) > 0
}

// Latest reports whether the page is for the latest version.
func (p launchPage) Latest() bool { return p.Workflow.Number == p.Workflow.LatestVersion }

// launchedPage shows what a sent form has started.
type launchedPage struct {
	Workflow Version
	// RunID is the run that the form has started; nil for none.
	RunID *uuid.UUID
	// Pending is set while its request is still running.
	Pending bool
}

// launchAny is GET /app/orgs/{org}/launch/: to the one workflow that starts runs, or to the choice of one.
func (a *App) launchAny(c echo.Context, principal core.Principal) error {
	base := pages.Base(principal.OrgSlug)
	versions, err := a.Service.list(c.Request().Context(), principal.OrgID, core.Cursor{Size: core.DefaultPageSize})
	if err != nil {
		return err
	}
	if len(versions) == 1 && versions[0].IsActive {
		return c.Redirect(http.StatusSeeOther, base+"workflows/"+versions[0].Slug+"/launch/")
	}
	var hint string
	if len(versions) > 0 && principal.Role.Allows(api.RoleExecutor) {
		hint = "Choose a workflow to run."
	}
	return pages.Redirect(c, base+"workflows/", hint)
}

// showLaunch is GET /app/orgs/{org}/workflows/{id}/launch/.
func (a *App) showLaunch(c echo.Context, principal core.Principal, version Version) error {
	return a.renderLaunch(c, http.StatusOK, principal, launchPage{Workflow: version})
}

// renderLaunch shows the form. One that was not sent yet gets its key.
func (a *App) renderLaunch(c echo.Context, status int, principal core.Principal, page launchPage) error {
	usage, err := a.Usage.RunUsage(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	if page.Key == "" {
		page.Key = idempotency.NewFormKey()
	}
	page.Quota, page.MaxBytes = usage, a.Limits.MaxBytes
	page.Action = pages.Base(principal.OrgSlug) + "workflows/" + page.Workflow.Slug + "/launch/?version=" +
		strconv.Itoa(page.Workflow.Number)
	accepts := page.Workflow.Definition.Accepts
	page.Accept = strings.Join(slices.Concat(accepts, mediatype.Endings(accepts)), ",")
	page.MayEdit = principal.Role.Allows(api.RoleAuthor)
	return a.pages.Render(c, status, "launch", pages.Page{
		Title: "Run " + page.Workflow.Name, Section: pages.SectionWorkflows, KeepsForm: true, Data: page,
	})
}

// launch is POST /app/orgs/{org}/workflows/{id}/launch/. However often a form is sent, it starts one run.
func (a *App) launch(c echo.Context, principal core.Principal, version Version) error {
	page := launchPage{Workflow: version}
	ctx := c.Request().Context()
	intake := a.Service.runs.NewIntake(principal.OrgID)
	form, document, err := body.ReadForm(c.Request(), a.Limits, version.Definition, intake)
	page.Entries = launchEntries{
		Name: form.Text("name"), ShortDescription: form.Text("short_description"), Filename: form.Text("filename"),
	}
	page.Entries.Text, page.Entries.TextTooLong = form.Pasted()
	key, keyErr := a.Guard.FormKey(principal, form.Text(idempotency.FormField))
	page.Key = key.Value
	idempotency.EchoFormKey(c, key)
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
		page.Key, err = "", quota.PaymentRequired()
	}
	if err != nil {
		return a.refuseLaunch(c, principal, page, err)
	}
	answer.WriteOrigin(c)
	notice := ""
	if answer.Replayed {
		notice = "This form has already started this run. Nothing was started again."
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"runs/"+answer.RunID.String()+"/", notice)
}

// refuseLaunch shows a refused form again, or the run that it has started.
func (a *App) refuseLaunch(c echo.Context, principal core.Principal, page launchPage, err error) error {
	refused := core.AsError(err)
	core.NoteRefusal(c, refused)
	switch refused.Code {
	case api.CodeKeyInProgress, api.CodeOutcomeUnknown:
		address := pages.Base(principal.OrgSlug) + "workflows/" + page.Workflow.Slug + "/launch/" + page.Key + "/"
		return pages.Redirect(c, address, "")
	case api.CodeKeyReused:
		return a.renderLaunched(c, core.Spec(refused.Code).Status, "launch_reused", principal, page)
	default:
	}
	page.Problem = pages.Refusal(err)
	if page.Problem == nil {
		return err
	}
	return a.renderLaunch(c, pages.RefusalStatus(c, page.Problem), principal, page)
}

// showLaunched is GET /app/orgs/{org}/workflows/{id}/launch/{key}/: what a form whose answer was lost has started.
func (a *App) showLaunched(c echo.Context, principal core.Principal, version Version) error {
	key, err := a.Guard.FormKey(principal, c.Param("key"))
	if err != nil {
		return core.NotFound("form").Because(err)
	}
	form := launchPage{Workflow: version, Key: key.Value}
	return a.renderLaunched(c, http.StatusOK, "launch_pending", principal, form)
}

// renderLaunched shows what a form has started. If its run has just been started, it redirects to the run.
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
	record, err := a.Starter.Lookup(ctx, principal.OrgID, start.Endpoint, idempotency.Key{Value: key, Given: true})
	if err != nil || record == nil {
		return nil, false, err
	}
	if record.Finished() && record.Response.Status == http.StatusCreated {
		return &record.Subject, false, nil
	}
	return nil, !record.Finished(), nil
}
