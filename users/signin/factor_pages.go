package signin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/factors"
)

// FactorAddress is the page of the second factor.
const FactorAddress = AccountAddress + "second-factor/"

// factorPage shows the secret that is being set up, as a QR code and as text.
type factorPage struct {
	factors.Enrolment

	// Pending is set if there is one.
	Pending bool
	Problem *core.Error
}

// confirmForm is the code that shows that the app has the secret.
type confirmForm struct {
	Code string `form:"code" validate:"required,max=40"`
}

// factorPage is GET /app/account/second-factor/.
func (a *App) factorPage(c echo.Context) error {
	return a.renderFactor(c, http.StatusOK, nil)
}

func (a *App) renderFactor(c echo.Context, status int, problem *core.Error) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	drawn, pending, err := a.service.factors.Pending(c.Request().Context(), visitor)
	if err != nil {
		return err
	}
	// Whoever has seen the secret knows the codes for good. To begin again takes a proof and makes another secret.
	lately, err := a.service.signedInLately(c.Request().Context(), SessionSecret(c))
	if err != nil {
		return err
	}
	if !lately {
		drawn, pending = factors.Enrolment{}, false
	}
	return a.pages.Render(c, status, "second_factor", pages.Page{
		Title: "Set up an authenticator app", Data: factorPage{Enrolment: drawn, Pending: pending, Problem: problem},
	})
}

// confirmFactorForm is POST /app/account/second-factor/confirm/. It answers with the recovery codes, which are not
// shown again.
func (a *App) confirmFactorForm(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	var form confirmForm
	err := core.BindForm(c, a.check, &form)
	if err == nil {
		err = a.MayGuess(c.Request().Context(), "visitor "+visitor.UserID.String())
	}
	var codes []string
	if err == nil {
		codes, err = a.service.factors.Confirm(c.Request().Context(), visitor.UserID, form.Code, BrowserOf(c).Origin())
	}
	if err != nil {
		return pages.Refuse(c, err, a.renderFactor)
	}
	return a.renderRecovery(c, codes)
}

// renewCodesForm is POST /app/account/second-factor/codes/.
func (a *App) renewCodesForm(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	codes, err := a.service.factors.RenewCodes(c.Request().Context(), visitor.UserID, BrowserOf(c).Origin())
	if err != nil {
		return err
	}
	return a.renderRecovery(c, codes)
}

func (a *App) renderRecovery(c echo.Context, codes []string) error {
	return a.pages.Render(c, http.StatusCreated, "recovery_codes", pages.Page{Title: "Recovery codes", Data: codes})
}

// removeFactorForm is POST /app/account/second-factor/remove/.
func (a *App) removeFactorForm(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if err := a.service.factors.RemoveOwn(c.Request().Context(), visitor.UserID, BrowserOf(c).Origin()); err != nil {
		return err
	}
	return pages.Redirect(c, AccountAddress, "The authenticator app is removed. Your password alone signs you in now.")
}
