package users

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	// stepCookie holds the secret of a sign-in that waits for its second step.
	stepCookie = "sv_sign_in"
	// stepLife is the lifetime of the cookie. The database decides when the step ends.
	stepLife = 10 * time.Minute
	// codeAddress is the page that asks for a code of the second factor.
	codeAddress = pages.SignInAddress + "code/"
)

// codeForm is what a visitor with a second factor sends.
type codeForm struct {
	Code    string `form:"code" validate:"required,max=40"`
	Problem *core.Error
}

// codePage is GET /app/sign-in/code/.
func (a *App) codePage(c echo.Context) error {
	return a.renderCode(c, http.StatusOK, nil)
}

func (a *App) renderCode(c echo.Context, status int, problem *core.Error) error {
	return a.pages.Render(c, status, "sign_in_code", pages.Page{
		Title: "Enter a code", Data: codeForm{Problem: problem},
	})
}

// codeForm is POST /app/sign-in/code/. Wrong codes are limited by network and, in the database, by account.
func (a *App) codeForm(c echo.Context) error {
	var form codeForm
	err := core.BindForm(c, a.check, &form)
	if err == nil {
		err = a.mayGuess("network " + network(c.RealIP()))
	}
	var session, next string
	if err == nil {
		secret := pages.Cookie(c, stepCookie)
		session, next, err = a.service.passCode(c.Request().Context(), secret, form.Code, browserOf(c))
	}
	if problem := pages.Refusal(err); problem != nil {
		return a.renderCode(c, pages.RefusalStatus(c, problem), problem)
	}
	if err != nil {
		return err
	}
	pages.SetCookie(c, stepCookie, "", 0)
	return enterInto(c, signedInto{session: session}, next)
}
