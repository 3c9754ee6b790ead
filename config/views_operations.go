package config

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const operationsAddress = pages.Root + "operations/"

// operationsQuery narrows the list of troubles.
type operationsQuery struct {
	Text string `query:"q" validate:"max=300,excludesrune=\x00"`
}

// show is GET /app/operations/.
func (o *operations) show(c echo.Context) error {
	var query operationsQuery
	if err := core.BindQuery(c, o.check, &query); err != nil {
		return err
	}
	return o.render(c, http.StatusOK, operationsPage{Text: strings.TrimSpace(query.Text)})
}

// render shows the page with what was entered.
func (o *operations) render(c echo.Context, status int, page operationsPage) error {
	ctx := c.Request().Context()
	var err error
	if page.installation, err = o.look(ctx); err != nil {
		return err
	}
	if page.Troubles, err = o.allTroubles(ctx, &page.installation); err != nil {
		return err
	}
	p := o.project
	page.Checks = newCheckRows(examination{settings: p.settings, db: p.db, redis: p.redis}.checks(ctx))
	page.All = int64(len(page.Troubles))
	for _, kind := range []troubleKind{kindKey, kindRun, kindJob, kindTask} {
		page.More = page.More || ofKind(page.Troubles, kind) >= maxTroubles
	}
	page.Troubles = narrowed(page.Troubles, page.Text)
	title := "Operations"
	if page.All > 0 {
		title = fmt.Sprintf("! %d · Operations", page.All)
	}
	return o.pages.Render(c, status, "operations", pages.Page{
		Title: title, Section: pages.SectionOperations, Data: page,
	})
}

// allTroubles lists the troubles in the database and those in the queues.
func (o *operations) allTroubles(ctx context.Context, found *installation) ([]trouble, error) {
	troubles, err := o.troubles(ctx)
	if err != nil {
		return nil, err
	}
	troubles = append(troubles, o.lookIntoQueues(ctx, found)...)
	return troubles, o.nameOrganizations(ctx, troubles)
}

func ofKind(troubles []trouble, kind troubleKind) int {
	n := 0
	for _, t := range troubles {
		if t.kind == kind {
			n++
		}
	}
	return n
}

// operationForm is what an operator wants to be done. It is done when it was confirmed.
type operationForm struct {
	Action    operation `form:"action"    validate:"oneof=retry discard"`
	Targets   []string  `form:"target"    validate:"required,max=400,dive,max=400"`
	Reason    string    `form:"reason"    validate:"required,max=500,excludesrune=\x00"`
	Confirmed bool      `form:"confirmed"`
}

// act is POST /app/operations/. The first time it says what would be done, and does it when that was confirmed.
func (o *operations) act(c echo.Context) error {
	var form operationForm
	if err := core.BindForm(c, o.check, &form); err != nil {
		problem := pages.Refusal(err)
		if problem == nil {
			return err
		}
		return o.render(c, pages.RefusalStatus(c, problem), operationsPage{
			Reason: form.Reason, Chosen: chosen(form.Targets), Problem: problem,
		})
	}
	if form.Confirmed {
		return o.doAll(c, form)
	}
	troubles, err := o.allTroubles(c.Request().Context(), &installation{})
	if err != nil {
		return err
	}
	page := confirmPage{Action: form.Action, Reason: form.Reason}
	for _, t := range troubles {
		if slices.Contains(form.Targets, t.Target()) && t.allows(form.Action) {
			page.Chosen = append(page.Chosen, t)
		}
	}
	page.Left = int64(len(form.Targets) - len(page.Chosen))
	return o.pages.Render(c, http.StatusOK, "confirm", pages.Page{
		Title: "Confirm", Section: pages.SectionOperations, Data: page,
	})
}

// doAll does one after the other. What was done meanwhile, or has got on by itself, is counted and left alone. Where
// the service itself is at fault, the rest is not tried.
func (o *operations) doAll(c echo.Context, form operationForm) error {
	ctx := c.Request().Context()
	var done, left int
	for i, text := range form.Targets {
		err := error(core.NotFound("target"))
		if t, ok := parseTarget(text); ok {
			err = o.do(ctx, form.Action, t, form.Reason)
		}
		if err == nil {
			done++
			continue
		}
		o.project.log.WarnContext(ctx, "an operation was not done", "action", form.Action, "target", text, "error", err)
		if core.AsError(err).Code.Spec().Status >= http.StatusInternalServerError {
			return o.stopped(c, form, i, left, err)
		}
		left++
	}
	return pages.Redirect(c, operationsAddress, outcomeOf(form.Action, done, left))
}

func outcomeOf(action operation, done, left int) string {
	words := map[operation]string{operationRetry: "tried again", operationDiscard: "discarded"}
	text := fmt.Sprintf("%d %s.", done, words[action])
	if left > 0 {
		text += fmt.Sprintf(" %d left alone: they got on by themselves, or this cannot be done about them.", left)
	}
	return text
}

// stopped shows what could not be done, and keeps it chosen with all that comes after it.
func (o *operations) stopped(c echo.Context, form operationForm, tried, left int, cause error) error {
	rest := form.Targets[tried:]
	problem := core.NewError(core.CodeUnavailable, fmt.Sprintf(
		"%s %d could not be done or confirmed, and are chosen again below: %s. The audit log has what was tried.",
		outcomeOf(form.Action, tried-left, left), len(rest), firstLine(cause.Error()))).Because(cause)
	return o.render(c, pages.RefusalStatus(c, problem), operationsPage{
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
