package users

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

// membersPage lists members, with the form for a new one.
type membersPage struct {
	api.Page[memberRow]
	// Manages says that the visitor may invite members.
	Manages bool
	// Invitations are those that are open, up to a page of them; only those who manage members see them.
	Invitations []invitationRow
	Form        memberDraft
	Roles       []pages.Choice
	Problem     *core.Error
}

type memberRow struct {
	Member
	// Self is set if the member is the visitor.
	Self bool
	// Roles are those that the visitor may give the member; none if the visitor may not change the member.
	Roles []pages.Choice
}

// invitationRow is an open invitation as the page lists it.
type invitationRow struct {
	Invitation
	Pill pages.Pill
	// Within is set if the visitor may give the role.
	Within bool
}

func invitationRowFor(principal core.Principal) func(Invitation) invitationRow {
	return func(i Invitation) invitationRow {
		row := invitationRow{
			Invitation: i, Pill: pages.NewPill("idle", string(api.InvitationStateExpired)),
			Within: principal.Role.Allows(i.Role),
		}
		if i.Valid {
			row.Pill = pages.NewPill("ok", string(api.InvitationStateInvited))
		}
		return row
	}
}

func memberRowFor(principal core.Principal) func(Member) memberRow {
	return func(m Member) memberRow {
		row := memberRow{Member: m, Self: m.ID == principal.UserID}
		if principal.Role.Allows(api.RoleAdmin) && principal.Role.Allows(m.Role) {
			row.Roles = account.RolesUpTo(principal.Role, m.Role)
		}
		return row
	}
}

// membersPage is GET /app/orgs/{org}/members/.
func (a *App) membersPage(c echo.Context, principal core.Principal) error {
	return a.renderMembers(c, http.StatusOK, principal, memberDraft{Role: api.RoleViewer}, nil)
}

// renderMembers shows the list, with the form as it was filled in.
func (a *App) renderMembers(
	c echo.Context, status int, principal core.Principal, form memberDraft, problem *core.Error,
) error {
	page, err := a.readMembers(c, principal)
	if err != nil {
		return err
	}
	manages := principal.Role.Allows(api.RoleAdmin)
	var open []Invitation
	if manages {
		open, err = a.service.invitations(c.Request().Context(), principal.OrgID, core.Cursor{Size: core.MaxPageSize})
		if err != nil {
			return err
		}
	}
	return a.pages.Render(c, status, "members", pages.Page{
		Title: "Members", Section: pages.SectionMembers,
		Data: membersPage{
			Page: core.MapPage(page, memberRowFor(principal)), Manages: manages,
			Invitations: core.MapPage(api.Page[Invitation]{Results: open}, invitationRowFor(principal)).Results,
			Form:        form, Roles: account.RolesUpTo(principal.Role, form.Role), Problem: problem,
		},
	})
}

// inviteForm is POST /app/orgs/{org}/members/. It answers with the link of the invitation, which is shown only there.
// There is one open invitation per address, so sending the form twice is harmless.
func (a *App) inviteForm(c echo.Context, principal core.Principal) error {
	var form memberDraft
	var issued issuedLink
	err := core.BindForm(c, a.check, &form)
	if err == nil {
		if proven, err := a.SignIn.RequireRecentSignInFor(c, form.Role); !proven {
			return err
		}
		err = a.mayMail(c, principal)
	}
	if err == nil {
		issued, err = a.service.inviteWithLink(c.Request().Context(), principal, form)
	}
	if err != nil && !errors.Is(err, api.CodePermissionDenied) {
		return pages.Refuse(c, err, func(c echo.Context, status int, problem *core.Error) error {
			return a.renderMembers(c, status, principal, form, problem)
		})
	}
	if err != nil {
		return err
	}
	return a.renderLink(c, issued)
}

// linkPage shows the link of an invitation. It is not shown again.
type linkPage struct {
	Invitation Invitation
	// Link is the whole address, to copy and to pass on.
	Link string
	// Mailed is set if the person also gets the link by mail.
	Mailed bool
}

// renewLinkForm is POST /app/orgs/{org}/members/invitations/{id}/link/.
func (a *App) renewLinkForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	invited, err := openInvitation(a.service.db.Gorm.WithContext(c.Request().Context()), principal.OrgID, id)
	if err != nil {
		return err
	}
	// Whoever has the link can take the role.
	if proven, err := a.SignIn.RequireRecentSignInFor(c, invited.Role); !proven {
		return err
	}
	if err := a.mayMail(c, principal); err != nil {
		return err
	}
	issued, err := a.service.renewLink(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	return a.renderLink(c, issued)
}

func (a *App) renderLink(c echo.Context, issued issuedLink) error {
	return a.pages.Render(c, http.StatusCreated, "invitation_link", pages.Page{
		Title: "Invitation of " + issued.Email, Section: pages.SectionMembers,
		Data: linkPage{
			Invitation: issued.Invitation, Link: c.Scheme() + "://" + c.Request().Host + issued.Path(),
			Mailed: a.service.Mails.AreSent(),
		},
	})
}

// revokeInvitationForm is POST /app/orgs/{org}/members/invitations/{id}/revoke/.
func (a *App) revokeInvitationForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.revokeInvitation(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return toMembers(c, principal, "The invitation is revoked, and its link no longer works.")
}

// changeMemberForm is POST /app/orgs/{org}/members/{id}/role/.
func (a *App) changeMemberForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
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
func (a *App) removeMemberForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.removeMember(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return toMembers(c, principal, "The member is removed. The member's tokens are refused from now on.")
}

func toMembers(c echo.Context, principal core.Principal, notice string) error {
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"members/", notice)
}

// removeMembersFactorForm is POST /app/orgs/{org}/members/{id}/second-factor/remove/.
func (a *App) removeMembersFactorForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.removeMembersFactor(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return toMembers(c, principal, "The member signs in without a second factor now.")
}

// linkForm is how long a link works.
type linkForm struct {
	Hours int `form:"hours" validate:"min=1,max=72"`
}

// passwordLinkPage shows a link. It is not shown again.
type passwordLinkPage struct {
	Link signin.PasswordLink
	// Address is the whole address, to copy and to pass on.
	Address string
	Mailed  bool
}

// linkPasswordForm is POST /app/orgs/{org}/members/{id}/password/.
func (a *App) linkPasswordForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var form linkForm
	if err := core.BindForm(c, a.check, &form); err != nil {
		return err
	}
	if err := a.SignIn.MayGuess(c.Request().Context(), "links of "+principal.UserID.String()); err != nil {
		return err
	}
	link, err := a.service.linkPassword(c.Request().Context(), principal, id, time.Duration(form.Hours)*time.Hour)
	if err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusCreated, "password_link", pages.Page{
		Title: "New password of " + link.Email, Section: pages.SectionMembers,
		Data: passwordLinkPage{
			Link: link, Address: c.Scheme() + "://" + c.Request().Host + link.Path(), Mailed: a.service.Mails.AreSent(),
		},
	})
}
