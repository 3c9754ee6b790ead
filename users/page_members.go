package users

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// membersPage lists members, with the form for a new one.
type membersPage struct {
	core.Page[memberRow]
	// Manages says that the visitor may add members.
	Manages bool
	Form    memberDraft
	Roles   []choice
	Problem *core.Error
}

type memberRow struct {
	Member
	// Self says that it is the visitor.
	Self bool
	// Roles are those that the visitor may give the member; none where the member is out of reach.
	Roles []choice
}

func memberRowFor(principal core.Principal) func(Member) memberRow {
	return func(m Member) memberRow {
		row := memberRow{Member: m, Self: m.ID == principal.UserID}
		if principal.Role.Allows(core.RoleAdmin) && principal.Role.Allows(m.Role) {
			row.Roles = rolesUpTo(principal.Role, m.Role)
		}
		return row
	}
}

// membersPage is GET /app/orgs/{org}/members/.
func (a *App) membersPage(c echo.Context, principal core.Principal) error {
	return a.renderMembers(c, http.StatusOK, principal, memberDraft{Role: core.RoleViewer}, nil)
}

// renderMembers shows the list, with the form as it was filled in.
func (a *App) renderMembers(
	c echo.Context, status int, principal core.Principal, form memberDraft, problem *core.Error,
) error {
	page, err := a.readMembers(c, principal)
	if err != nil {
		return err
	}
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
func (a *App) addMemberForm(c echo.Context, principal core.Principal) error {
	var form memberDraft
	var member Member
	err := core.BindForm(c, a.check, &form)
	if err == nil {
		member, err = a.service.addMember(c.Request().Context(), principal, form)
	}
	if problem := pages.Refusal(err); problem != nil && problem.Code != core.CodePermissionDenied {
		return a.renderMembers(c, pages.RefusalStatus(c, problem), principal, form, problem)
	}
	if err != nil {
		return err
	}
	return toMembers(c, principal, member.Email+" is a member now.")
}

// changeMemberForm is POST /app/orgs/{org}/members/{id}/role/.
func (a *App) changeMemberForm(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "member")
	if err != nil {
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
func (a *App) removeMemberForm(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "member")
	if err != nil {
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
