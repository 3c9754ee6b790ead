package users

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// membersPage is GET /app/orgs/{org}/members/.
func (a *App) membersPage(c echo.Context) error {
	return a.renderMembers(c, http.StatusOK, memberDraft{Role: core.RoleViewer}, nil)
}

// renderMembers shows the list, with the form as it was filled in.
func (a *App) renderMembers(c echo.Context, status int, form memberDraft, problem *core.Error) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	cursor, err := core.BindList(c, a.check, &core.PageQuery{})
	if err != nil {
		return err
	}
	members, err := a.service.members(c.Request().Context(), principal.OrgID, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, members, func(m Member) uuid.UUID { return m.ID }, *c.Request().URL)
	return a.pages.Render(c, status, "members", pages.Page{
		Title: "Members", Section: pages.SectionMembers,
		Data: membersPage{
			Page: core.MapPage(page, memberRowFor(principal)), Manages: principal.Role.Allows(core.RoleAdmin),
			Form: form, Roles: rolesUpTo(principal.Role, form.Role), Problem: problem,
		},
	})
}

// addMemberForm is POST /app/orgs/{org}/members/. Who is a member already is not added again, so sending it twice is
// harmless.
func (a *App) addMemberForm(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	var form memberDraft
	var member Member
	if err = core.BindForm(c, a.check, &form); err == nil {
		member, err = a.service.addMember(c.Request().Context(), principal, form)
	}
	if problem := pages.Refusal(err); problem != nil && problem.Code != core.CodePermissionDenied {
		return a.renderMembers(c, pages.RefusalStatus(c, problem), form, problem)
	}
	if err != nil {
		return err
	}
	return toMembers(c, principal, member.Email+" is a member now.")
}

// changeMemberForm is POST /app/orgs/{org}/members/{id}/role/.
func (a *App) changeMemberForm(c echo.Context) error {
	principal, id, err := callerAnd(c, "member")
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "change members"); err != nil {
		return err
	}
	var form memberChange
	if err := core.BindForm(c, a.check, &form); err != nil {
		return err
	}
	member, err := a.service.setRole(c.Request().Context(), principal, id, form.Role)
	if err != nil {
		return err
	}
	return toMembers(c, principal, member.Email+" is "+string(member.Role)+" now.")
}

// removeMemberForm is POST /app/orgs/{org}/members/{id}/remove/.
func (a *App) removeMemberForm(c echo.Context) error {
	principal, id, err := callerAnd(c, "member")
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "remove members"); err != nil {
		return err
	}
	if err := a.service.removeMember(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return toMembers(c, principal, "The member is removed. The member's tokens are refused from now on.")
}

func toMembers(c echo.Context, principal core.Principal, notice string) error {
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"members/", notice)
}

// usagePage is GET /app/orgs/{org}/usage/.
func (a *App) usagePage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	usage, err := a.service.RunUsage(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	counts, err := a.runs.CountRuns(ctx, principal.OrgID, usage.Period)
	if err != nil {
		return err
	}
	tokens, err := a.service.startsByToken(ctx, principal.OrgID, usage.Period)
	if err != nil {
		return err
	}
	days, err := a.keys.Days(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "usage", pages.Page{
		Title: "Usage", Section: pages.SectionUsage, Data: newUsagePage(usage, counts, tokens, days),
	})
}

// auditQuery narrows the audit log.
type auditQuery struct {
	core.PageQuery
	AuditFilter
}

// auditPage is GET /app/orgs/{org}/audit/.
func (a *App) auditPage(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "read the audit log"); err != nil {
		return err
	}
	var query auditQuery
	cursor, err := core.BindList(c, a.check, &query)
	if err != nil {
		return err
	}
	entries, err := a.service.audits(c.Request().Context(), principal.OrgID, query.AuditFilter, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, entries, func(e auditEntry) uuid.UUID { return e.ID }, *c.Request().URL)
	return a.pages.Render(c, http.StatusOK, "audit", pages.Page{
		Title: "Audit log", Section: pages.SectionAudit,
		Data: auditPage{Page: core.MapPage(page, auditRowFor(principal)), Deeds: auditedDeeds(query.Deeds)},
	})
}
