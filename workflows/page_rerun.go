package workflows

import (
	"errors"
	"net/http"
	"path"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
	"github.com/simplevalidations/simplevalidations/workflows/start"
)

// rerunForm is POST /app/orgs/{org}/runs/{id}/rerun/. However often a form is sent, it starts one run.
func (a *App) rerunForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	runs := pages.Base(principal.OrgSlug) + "runs/"
	key, err := a.Guard.FormKey(principal, c.FormValue(idempotency.FormField))
	idempotency.EchoFormKey(c, key)
	if errors.Is(err, api.CodeKeyInvalid) {
		core.NoteRefusal(c, core.AsError(err))
		// The run's page has a form with a new key.
		return pages.Redirect(c, runs+id.String()+"/", core.AsError(err).Detail)
	}
	if err != nil {
		return err
	}
	answer, err := a.starts.RerunOnce(c, principal, key, api.SourceDashboard)
	if err != nil {
		return a.RunPages.ShowRefused(c, principal, id, err)
	}
	answer.WriteOrigin(c)
	notice := "This run checks the document again."
	if answer.Replayed {
		notice = "This form has already started this run. Nothing was started again."
	}
	// A run has the same name in the API and on the dashboard.
	return pages.Redirect(c, runs+path.Base(answer.Response.Headers.Location)+"/", notice)
}

const (
	actionRerun  = "rerun"
	actionCancel = "cancel"
)

// selectionView asks whether to rerun or cancel the runs that were selected in a list.
type selectionView struct {
	Action string
	Chosen []selectedRun
	// Left is how many of the selected runs the action is not possible for.
	Left int
	Key  string
}

// selectedRun is a run with the name of its document, "" for one without.
type selectedRun struct {
	validations.Run

	Filename string
}

// selectRuns is POST /app/orgs/{org}/select-runs/. The first sending asks, the second one, which is confirmed, acts.
// However often that one is sent, each run is rerun or canceled once.
func (a *App) selectRuns(c echo.Context, principal core.Principal) error {
	form, err := c.FormParams()
	if err != nil {
		return core.InvalidPayload("the form cannot be read").Because(err)
	}
	list := pages.Base(principal.OrgSlug) + "runs/"
	action := form.Get("action")
	if action != actionRerun && action != actionCancel {
		return core.InvalidParameter("action", "must be rerun or cancel")
	}
	ids := core.ParseIDs(form["run"])
	if len(ids) == 0 {
		return pages.Redirect(c, list, "Select at least one run first.")
	}
	if len(ids) > core.DefaultPageSize {
		return pages.Redirect(c, list, "Select fewer runs: one page of the list at a time.")
	}
	if form.Get("confirmed") == "" {
		return a.askAboutRuns(c, principal, action, ids)
	}
	act := a.cancelEach
	if action == actionRerun {
		act = a.rerunEach
	}
	notice, err := act(c, principal, ids)
	if err != nil {
		return err
	}
	return pages.Redirect(c, list, notice)
}

// askAboutRuns shows which runs an action is about.
func (a *App) askAboutRuns(c echo.Context, principal core.Principal, action string, ids []uuid.UUID) error {
	found, err := a.Service.runs.FindAll(c.Request().Context(), principal.OrgID, ids)
	if err != nil {
		return err
	}
	submissions := make([]uuid.UUID, 0, len(found))
	for _, run := range found {
		submissions = append(submissions, run.SubmissionID)
	}
	names, err := a.Service.runs.Filenames(c.Request().Context(), principal.OrgID, submissions)
	if err != nil {
		return err
	}
	view := selectionView{Action: action}
	for _, id := range ids {
		run, ok := found[id]
		ended := run.State == api.RunStateCompleted
		if ok && (action == actionRerun && ended && run.ContentPurgedAt == nil || action == actionCancel && !ended) {
			view.Chosen = append(view.Chosen, selectedRun{run, formats.Clean(names[run.SubmissionID])})
		}
	}
	view.Left = len(ids) - len(view.Chosen)
	view.Key = idempotency.NewFormKey()
	return a.pages.Render(c, http.StatusOK, "selection", pages.Page{
		Title: "Selected runs", Section: pages.SectionRuns, Data: view,
	})
}

// rerunEach starts a rerun of each run with a key of its own, which is made of the form's. It ends at the first
// refusal.
func (a *App) rerunEach(c echo.Context, principal core.Principal, ids []uuid.UUID) (string, error) {
	form := c.FormValue(idempotency.FormField)
	started, repeated := 0, 0
	for _, id := range ids {
		key, err := a.Guard.FormKeyFor(principal, form, id)
		var answer start.Answer
		if err == nil {
			answer, err = a.starts.RerunOf(c, principal, id, key, api.SourceDashboard)
		}
		if refusal := pages.Refusal(err); refusal != nil {
			return outcome(started, repeated, len(ids)-started-repeated, refusal), nil
		}
		if err != nil {
			return "", err
		}
		if answer.Replayed {
			repeated++
		} else {
			started++
		}
	}
	return outcome(started, repeated, 0, nil), nil
}

// cancelEach cancels the runs. A run that has ended in the meantime stays unchanged.
func (a *App) cancelEach(c echo.Context, principal core.Principal, ids []uuid.UUID) (string, error) {
	canceled, ended := 0, 0
	for _, id := range ids {
		err := a.RunPages.Cancel(c, principal, id)
		switch {
		case errors.Is(err, api.CodeRunCompleted):
			ended++
		case err != nil:
			return "", err
		default:
			canceled++
		}
	}
	text := "Canceled " + core.Plural(canceled, "run") + "."
	if ended > 0 {
		text += " " + core.Plural(ended, "run") + " had ended before."
	}
	return text, nil
}

// outcome says how many of the selected runs were rerun or canceled.
func outcome(started, repeated, refused int, refusal *core.Error) string {
	parts := []string{"Started " + core.Plural(started, "run") + "."}
	if repeated > 0 {
		parts = append(parts, "This form had already started "+core.Plural(repeated, "run")+".")
	}
	if refused > 0 {
		parts = append(parts, "Not started: "+core.Plural(refused, "run")+". "+refusal.Detail)
	}
	return strings.Join(parts, " ")
}
