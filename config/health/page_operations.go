package health

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const operationsAddress = pages.Root + "operations/"

// operationsPage shows the state of the service, and the incidents.
type operationsPage struct {
	systemState

	Incidents []incident
	// All counts the incidents before the filter; More says that there are more than were read.
	All  int64
	More bool
	Text string
	// Reason, Chosen and Problem are set when a form was refused.
	Reason  string
	Chosen  map[string]bool
	Problem *core.Error
}

// confirmPage asks an operator to confirm an operation.
type confirmPage struct {
	Action operation
	Reason string
	Chosen []incident
	// Left counts the chosen incidents that are left out: they are resolved, or do not allow the operation.
	Left int64
}

// operationsQuery narrows the list of incidents.
type operationsQuery struct {
	Text string `query:"q" validate:"max=300,excludesrune=\x00"`
}

// show is GET /app/operations/.
func (a *App) show(c echo.Context) error {
	var query operationsQuery
	if err := core.BindQuery(c, a.Validator, &query); err != nil {
		return err
	}
	return a.render(c, http.StatusOK, operationsPage{Text: strings.TrimSpace(query.Text)})
}

// render shows the page with what was entered.
func (a *App) render(c echo.Context, status int, page operationsPage) error {
	ctx := c.Request().Context()
	var err error
	if page.systemState, err = a.readState(ctx); err != nil {
		return err
	}
	if page.Incidents, err = a.allIncidents(ctx, &page.systemState); err != nil {
		return err
	}
	page.Checks = a.Checks(ctx)
	page.All = int64(len(page.Incidents))
	for _, kind := range []incidentKind{kindKey, kindRun, kindJob, kindTask} {
		page.More = page.More || ofKind(page.Incidents, kind) >= maxIncidents
	}
	page.Incidents = narrowed(page.Incidents, page.Text)
	title := "Operations"
	if page.All > 0 {
		title = fmt.Sprintf("! %d · Operations", page.All)
	}
	return a.pages.Render(c, status, "operations", pages.Page{
		Title: title, Section: pages.SectionOperations, Data: page,
	})
}

// allIncidents lists the incidents in the database and in the queues.
func (a *App) allIncidents(ctx context.Context, found *systemState) ([]incident, error) {
	incidents, err := a.incidents(ctx)
	if err != nil {
		return nil, err
	}
	incidents = append(incidents, a.failedTasks(ctx, found)...)
	return incidents, a.nameOrganizations(ctx, incidents)
}

func ofKind(incidents []incident, kind incidentKind) int {
	n := 0
	for _, t := range incidents {
		if t.kind == kind {
			n++
		}
	}
	return n
}

// operationForm asks for an operation, which is done once it is confirmed.
type operationForm struct {
	Action    operation `form:"action"    validate:"oneof=retry discard"`
	Targets   []string  `form:"target"    validate:"required,max=400,dive,max=400"`
	Reason    string    `form:"reason"    validate:"required,max=500,excludesrune=\x00"`
	Confirmed bool      `form:"confirmed"`
}

// act is POST /app/operations/. A form without the confirmation is answered with the page that asks for it.
func (a *App) act(c echo.Context) error {
	var form operationForm
	if err := core.BindForm(c, a.Validator, &form); err != nil {
		problem := pages.Refusal(err)
		if problem == nil {
			return err
		}
		return a.render(c, pages.RefusalStatus(c, problem), operationsPage{
			Reason: form.Reason, Chosen: chosen(form.Targets), Problem: problem,
		})
	}
	if form.Confirmed {
		return a.doAll(c, form)
	}
	incidents, err := a.allIncidents(c.Request().Context(), &systemState{})
	if err != nil {
		return err
	}
	page := confirmPage{Action: form.Action, Reason: form.Reason}
	for _, t := range incidents {
		if slices.Contains(form.Targets, t.Target()) && t.allows(form.Action) {
			page.Chosen = append(page.Chosen, t)
		}
	}
	page.Left = int64(len(form.Targets) - len(page.Chosen))
	return a.pages.Render(c, http.StatusOK, "confirm", pages.Page{
		Title: "Confirm", Section: pages.SectionOperations, Data: page,
	})
}

// doAll does one target after the other. Incidents that were resolved meanwhile are counted and left out. After an
// error of the service itself the rest is not tried.
func (a *App) doAll(c echo.Context, form operationForm) error {
	ctx := c.Request().Context()
	var done, left int
	for i, text := range form.Targets {
		err := error(core.NotFound("target"))
		if t, ok := parseTarget(text); ok {
			err = a.do(ctx, form.Action, t, form.Reason)
		}
		if err == nil {
			done++
			continue
		}
		a.Log.WarnContext(ctx, "an operation failed", "action", form.Action, "target", text, "error", err)
		if core.Spec(core.AsError(err).Code).Status >= http.StatusInternalServerError {
			return a.stopped(c, form, i, left, err)
		}
		left++
	}
	return pages.Redirect(c, operationsAddress, outcomeOf(form.Action, done, left))
}

func outcomeOf(action operation, done, left int) string {
	words := map[operation]string{operationRetry: "tried again", operationDiscard: "discarded"}
	text := fmt.Sprintf("%d %s.", done, words[action])
	if left > 0 {
		text += fmt.Sprintf(" %d left out: they are resolved, or this is not possible for them.", left)
	}
	return text
}

// stopped shows the page with the failed target and all after it still chosen.
func (a *App) stopped(c echo.Context, form operationForm, tried, left int, cause error) error {
	rest := form.Targets[tried:]
	problem := core.NewError(api.CodeUnavailable, fmt.Sprintf(
		"%s %d failed or were not confirmed, and are still selected below: %s. The audit log lists what was tried.",
		outcomeOf(form.Action, tried-left, left), len(rest), firstLine(cause.Error()))).Because(cause)
	return a.render(c, pages.RefusalStatus(c, problem), operationsPage{
		Reason: form.Reason, Chosen: chosen(rest), Problem: problem,
	})
}

func chosen(targets []string) map[string]bool {
	all := make(map[string]bool, len(targets))
	for _, text := range targets {
		all[text] = true
	}
	return all
}
