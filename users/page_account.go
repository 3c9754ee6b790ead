package users

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const accountAddress = pages.Root + "account/"

// accountPage shows the visitor's own account.
type accountPage struct {
	Invitations []Invitation
	Sessions    []Session
	// MinPassword is the shortest password.
	MinPassword int
	// Factor is set if a second factor is on. CodesLeft counts the unused recovery codes.
	Factor    bool
	CodesLeft int
	Problem   *core.Error
}

// Others counts the sessions in other browsers.
func (p accountPage) Others() int { return max(len(p.Sessions)-1, 0) }

// passwordForm asks for another password.
type passwordForm struct {
	Current string `form:"current" validate:"required"`
	New     string `form:"new"     validate:"required,min=12,max=500"`
	Again   string `form:"again"   validate:"required,eqfield=New"`
}

// accountPage is GET /app/account/.
func (a *App) accountPage(c echo.Context) error {
	return a.renderAccount(c, http.StatusOK, nil)
}

func (a *App) renderAccount(c echo.Context, status int, problem *core.Error) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	sessions, err := a.service.sessions(c.Request().Context(), visitor.UserID, sessionSecret(c))
	if err != nil {
		return err
	}
	page := core.Cursor{Size: core.MaxPageSize}
	invitations, err := a.service.invitationsOf(c.Request().Context(), visitor.UserID, page)
	if err != nil {
		return err
	}
	shown := accountPage{
		Invitations: invitations, Sessions: sessions, MinPassword: minPassword, Problem: problem,
	}
	factor, err := a.service.factor(c.Request().Context(), visitor.UserID)
	if err != nil {
		return err
	}
	if factor != nil && factor.confirmed {
		shown.Factor, shown.CodesLeft = true, factor.left
	}
	return a.pages.Render(c, status, "account", pages.Page{Title: "Account", Data: shown})
}

// changePassword is POST /app/account/password/. The browser that has changed it stays signed in, with a new session.
func (a *App) changePassword(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	var form passwordForm
	err := core.BindForm(c, a.check, &form)
	var secret string
	if err == nil {
		err = a.mayGuess("visitor " + visitor.UserID.String())
	}
	if err == nil {
		secret, err = a.service.changePassword(c.Request().Context(), visitor, form, browserOf(c))
	}
	if problem := pages.Refusal(err); problem != nil {
		return a.renderAccount(c, pages.RefusalStatus(c, problem), problem)
	}
	if err != nil {
		return err
	}
	pages.SetCookie(c, sessionCookie, secret, cookieLife)
	return pages.Redirect(c, accountAddress, "The password is changed. All other sessions have ended.")
}

// endSessions is POST /app/account/sessions/end/: all of the visitor's but this one.
func (a *App) endSessions(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if err := a.service.endOtherSessions(c.Request().Context(), visitor.UserID, browserOf(c)); err != nil {
		return err
	}
	return pages.Redirect(c, accountAddress, "All other sessions have ended.")
}

// leaveForm is POST /app/account/organizations/{org}/leave/.
func (a *App) leaveForm(c echo.Context) error {
	principal, err := memberOf(c.Request().Context(), c.Param("org"))
	if err != nil {
		return err
	}
	err = a.service.leave(c.Request().Context(), principal)
	if problem := pages.Refusal(err); problem != nil {
		return a.renderAccount(c, pages.RefusalStatus(c, problem), problem)
	}
	if err != nil {
		return err
	}
	return pages.Redirect(c, accountAddress, "You have left "+principal.OrgName+".")
}

// acceptForm is POST /app/account/invitations/{id}/accept/.
func (a *App) acceptForm(c echo.Context) error {
	id, err := core.PathID(c, "invitation")
	if err != nil {
		return err
	}
	return a.acceptWith(c, invitationKey{id: id})
}

// declineForm is POST /app/account/invitations/{id}/decline/.
func (a *App) declineForm(c echo.Context) error {
	id, err := core.PathID(c, "invitation")
	if err != nil {
		return err
	}
	return a.declineWith(c, invitationKey{id: id})
}
