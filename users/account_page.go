package users

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

// beginFactorForm is POST /app/account/second-factor/.
func (a *App) beginFactorForm(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	err := a.service.Factors.Begin(c.Request().Context(), visitor.UserID, signin.BrowserOf(c).Origin())
	if err != nil {
		return pages.Refuse(c, err, a.renderAccount)
	}
	return pages.Redirect(c, signin.FactorAddress, "")
}

// accountPage shows the visitor's own account.
type accountPage struct {
	Invitations []Invitation
	Sessions    []signin.Session
	Tokens      []signin.TokenName
	// MinPassword is the shortest password.
	MinPassword int
	// Factor is set if a second factor is on. CodesLeft counts the unused recovery codes.
	Factor    bool
	CodesLeft int
	Problem   *core.Error
}

// Others counts the sessions in other browsers.
func (p accountPage) Others() int { return max(len(p.Sessions)-1, 0) }

// accountPage is GET /app/account/.
func (a *App) accountPage(c echo.Context) error {
	return a.renderAccount(c, http.StatusOK, nil)
}

func (a *App) renderAccount(c echo.Context, status int, problem *core.Error) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	sessions, err := a.service.SignIn.Sessions(c.Request().Context(), visitor.UserID, signin.SessionSecret(c))
	if err != nil {
		return err
	}
	page := core.Cursor{Size: core.MaxPageSize}
	invitations, err := a.service.invitationsOf(c.Request().Context(), visitor.UserID, page)
	if err != nil {
		return err
	}
	shown := accountPage{
		Invitations: invitations, Sessions: sessions, MinPassword: account.MinPassword, Problem: problem,
	}
	if shown.Tokens, err = a.service.SignIn.Tokens(c.Request().Context(), visitor.UserID); err != nil {
		return err
	}
	shown.Factor, shown.CodesLeft, err = a.service.Factors.Has(c.Request().Context(), visitor.UserID)
	if err != nil {
		return err
	}
	return a.pages.Render(c, status, "account", pages.Page{Title: "Account", Data: shown})
}

// changePassword is POST /app/account/password/. The browser that has changed it stays signed in, with a new session.
func (a *App) changePassword(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	var form signin.PasswordForm
	err := core.BindForm(c, a.check, &form)
	var secret string
	if err == nil {
		err = a.SignIn.MayGuess(c.Request().Context(), "visitor "+visitor.UserID.String())
	}
	if err == nil {
		secret, err = a.service.SignIn.ChangePassword(c.Request().Context(), visitor, form, signin.BrowserOf(c))
	}
	if err != nil {
		return pages.Refuse(c, err, a.renderAccount)
	}
	pages.SetCookie(c, signin.SessionCookie, secret, signin.CookieLife)
	return pages.Redirect(c, signin.AccountAddress, "The password is changed. All other sessions have ended.")
}

// leaveForm is POST /app/account/organizations/{org}/leave/.
func (a *App) leaveForm(c echo.Context) error {
	principal, err := signin.MemberOf(c.Request().Context(), c.Param("org"))
	if err != nil {
		return err
	}
	err = a.service.leave(c.Request().Context(), principal)
	if err != nil {
		return pages.Refuse(c, err, a.renderAccount)
	}
	return pages.Redirect(c, signin.AccountAddress, "You have left "+principal.OrgName+".")
}
