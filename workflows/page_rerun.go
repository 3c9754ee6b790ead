package workflows

import (
	"path"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
)

// rerunForm is POST /app/orgs/{org}/runs/{id}/rerun/. However often a form is sent, it starts one run.
func (a *App) rerunForm(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "run")
	if err != nil {
		return err
	}
	runs := pages.Base(principal.OrgSlug) + "runs/"
	key, err := a.guard.FormKey(principal, c.FormValue(idempotency.FormField))
	idempotency.EchoFormKey(c, key)
	if core.HasCode(err, core.CodeKeyInvalid) {
		core.NoteRefusal(c, core.AsError(err))
		// The run's page has a form with a new key.
		return pages.Redirect(c, runs+id.String()+"/", core.AsError(err).Detail)
	}
	if err != nil {
		return err
	}
	answer, err := a.starts.RerunOnce(c, principal, key, validations.SourceDashboard)
	if err != nil {
		return a.runPages.ShowRefused(c, principal, id, err)
	}
	answer.WriteOrigin(c)
	notice := "This run checks the document again."
	if answer.Replayed {
		notice = "This form has already started this run. Nothing was started again."
	}
	// A run has the same name in the API and on the dashboard.
	return pages.Redirect(c, runs+path.Base(answer.Response.Headers.Location)+"/", notice)
}
