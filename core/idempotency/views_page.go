package idempotency

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// keysPage is GET /app/orgs/{org}/keys/.
func (a *App) keysPage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	var query entriesQuery
	cursor, err := core.BindList(c, a.check, &query)
	if refusal := pages.Refusal(err); refusal != nil {
		data := keysPage{Filter: query.EntryFilter, States: newStateChoices(""), Problem: refusal}
		return a.renderKeys(c, pages.RefusalStatus(c, refusal), data)
	}
	if err != nil {
		return err
	}
	report, err := a.keysReport(c.Request().Context(), principal.OrgID, query.EntryFilter, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, report.entries, func(e Entry) uuid.UUID { return e.ID }, *c.Request().URL)
	data := newKeysPage(query.EntryFilter, report)
	data.Page = core.MapPage(page, newKeyRow(a.inspector.operations))
	return a.renderKeys(c, http.StatusOK, data)
}

func (a *App) renderKeys(c echo.Context, status int, data keysPage) error {
	return a.pages.Render(c, status, "keys", pages.Page{
		Title: "Idempotency", Section: pages.SectionKeys, Data: data,
	})
}

// keyPage is GET /app/orgs/{org}/keys/{id}/.
func (a *App) keyPage(c echo.Context) error {
	return a.renderKey(c, http.StatusOK, "", nil)
}

// renderKey shows a key, with the form for its release as it was filled in.
func (a *App) renderKey(c echo.Context, status int, reason string, problem *core.Error) error {
	principal, id, err := entryOf(c)
	if err != nil {
		return err
	}
	report, err := a.keyReport(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	data := newKeyPage(a.inspector.operations, report)
	data.MayRelease = principal.Role.Allows(core.RoleAdmin) &&
		(report.entry.State == StateAbandoned || report.entry.State == StateDead)
	data.Reason, data.Problem = reason, problem
	return a.pages.Render(c, status, "key", pages.Page{
		Title: report.entry.Key, Section: pages.SectionKeys, Data: data,
	})
}

// releaseForm is POST /app/orgs/{org}/keys/{id}/release/.
func (a *App) releaseForm(c echo.Context) error {
	principal, id, err := entryOf(c)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "release idempotency keys"); err != nil {
		return err
	}
	var form releaseBody
	if err = core.BindForm(c, a.check, &form); err == nil {
		err = a.releaseFor(c.Request().Context(), principal, id, form.Reason)
	}
	if problem := pages.Refusal(err); problem != nil && problem.Code != core.CodeNotFound {
		return a.renderKey(c, pages.RefusalStatus(c, problem), form.Reason, problem)
	}
	if err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"keys/", "The key is released: its request may go on.")
}
