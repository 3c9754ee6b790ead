package signin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// passwordAddress is where people without a session set a new password, and ask for a link.
const passwordAddress = pages.Root + "password/"

// newPasswordForm is what the person with a link sends.
type newPasswordForm struct {
	New   string `form:"new"   validate:"required,min=12,max=500"`
	Again string `form:"again" validate:"required,eqfield=New"`
	// RevokeTokens ends all tokens of the user, too.
	RevokeTokens bool `form:"revoke_tokens"`
}

// newPasswordPage is what a link leads to.
type newPasswordPage struct {
	Link        PasswordLink
	Tokens      []TokenName
	MinPassword int
	Problem     *core.Error
}

// newPasswordPage is GET /app/password/{token}/.
func (a *App) newPasswordPage(c echo.Context) error {
	return a.renderNewPassword(c, http.StatusOK, nil)
}

func (a *App) renderNewPassword(c echo.Context, status int, problem *core.Error) error {
	if err := a.mayGuessFrom(c); err != nil && problem == nil {
		return err
	}
	link, err := a.service.passwordLink(c.Request().Context(), c.Param("token"))
	if err != nil {
		return err
	}
	tokens, err := a.service.Tokens(c.Request().Context(), link.UserID)
	if err != nil {
		return err
	}
	return a.pages.Render(c, status, "new_password", pages.Page{
		Title: "New password",
		Data:  newPasswordPage{Link: link, Tokens: tokens, MinPassword: account.MinPassword, Problem: problem},
	})
}

// newPasswordForm is POST /app/password/{token}/. It begins no session: signing in also asks for the second factor, so
// the link alone does not replace it.
func (a *App) newPasswordForm(c echo.Context) error {
	var form newPasswordForm
	err := a.BindGuess(c, &form)
	if err == nil {
		err = a.service.resetPassword(c.Request().Context(), c.Param("token"), form, BrowserOf(c))
	}
	if err != nil {
		// For a link that does not work any more, the form answers that there is no such page.
		return pages.Refuse(c, err, a.renderNewPassword)
	}
	return pages.Redirect(c, pages.SignInAddress, "The password is set. Sign in with it.")
}

// forgottenForm asks for a link by mail.
type forgottenForm struct {
	Email string `form:"email" validate:"required,email,max=254"`
	// Mails says that the installation sends mail at all.
	Mails bool
	// Asked says that the form was sent.
	Asked   bool
	Problem *core.Error
}

// forgottenPage is GET /app/password/.
func (a *App) forgottenPage(c echo.Context) error {
	return a.renderForgotten(c, http.StatusOK, forgottenForm{})
}

func (a *App) renderForgotten(c echo.Context, status int, form forgottenForm) error {
	form.Mails = a.service.mails.AreSent()
	return a.pages.Render(c, status, "forgotten", pages.Page{Title: "Forgotten password", Data: form})
}

// forgottenForm is POST /app/password/. The answer and the work are the same for all addresses: who has an account is
// looked up later, by the worker that sends the mail, and so is how many mails the account has got: whoever asks for
// the address of another person must not keep that person from asking.
func (a *App) forgottenForm(c echo.Context) error {
	var form forgottenForm
	err := a.BindGuess(c, &form)
	if err == nil {
		err = a.service.askForPassword(c.Request().Context(), form.Email)
	}
	if err != nil {
		return pages.Refuse(c, err, func(c echo.Context, status int, problem *core.Error) error {
			form.Problem = problem
			return a.renderForgotten(c, status, form)
		})
	}
	form.Asked = true
	return a.renderForgotten(c, http.StatusOK, form)
}
