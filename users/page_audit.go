package users

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// auditPage lists what was done.
type auditPage struct {
	core.Page[auditRow]
	Actions []choice
}

// auditRow is an entry as the page lists it.
type auditRow struct {
	auditEntry

	// Address is the page of the action's subject; "" if it has none.
	Address string
}

func auditRowFor(principal core.Principal) func(auditEntry) auditRow {
	folders := map[string]string{"run": "runs/", "workflow": "workflows/"}
	return func(e auditEntry) auditRow {
		row := auditRow{auditEntry: e}
		if folder := folders[e.TargetType]; folder != "" {
			row.Address = pages.Base(principal.OrgSlug) + folder + e.TargetID + "/"
		}
		return row
	}
}

// auditedActions are the choices of AuditFilter.
func auditedActions(chosen string) []choice {
	choices := []choice{
		{Value: "all", Text: "everything except run starts"},
		{Value: "everything", Text: "everything"},
		{Value: "token", Text: "tokens"},
		{Value: "member", Text: "members"},
		{Value: "invitation", Text: "invitations"},
		{Value: "session", Text: "sign-ins and sessions"},
		{Value: "password", Text: "passwords"},
		{Value: "second_factor", Text: "second factors"},
		{Value: "identity", Text: "accounts at the provider"},
		{Value: "user", Text: "users"},
		{Value: "workflow", Text: "workflows"},
		{Value: "run", Text: "runs"},
		{Value: "idempotency_key", Text: "idempotency keys"},
		{Value: "organization", Text: "the organization"},
		{Value: "signing_secret", Text: "signing secrets"},
	}
	for i := range choices {
		choices[i].Chosen = choices[i].Value == chosen
	}
	return choices
}

// auditPage is GET /app/orgs/{org}/audit/.
func (a *App) auditPage(c echo.Context, principal core.Principal) error {
	var query auditQuery
	page, err := a.readAudits(c, principal, &query, func() AuditFilter {
		// Almost all records are starts of runs, which have a list of their own.
		query.Noun = cmp.Or(query.Noun, "all")
		return query.AuditFilter
	})
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "audit", pages.Page{
		Title: "Audit log", Section: pages.SectionAudit,
		Data: auditPage{
			Page: core.MapPage(page, auditRowFor(principal)), Actions: auditedActions(query.Noun),
		},
	})
}
