package users

import (
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// signInForm is what a visitor who signs in sends.
type signInForm struct {
	Email string `form:"email" validate:"max=254"`
	// Next is the page to go to.
	Next    string `form:"next"`
	Problem *core.Error
}

// showSignIn is GET /app/sign-in/.
func (a *App) showSignIn(c echo.Context) error {
	form := signInForm{Next: pages.Inside(c.QueryParam("next"))}
	return a.pages.Render(c, http.StatusOK, "sign_in", pages.Page{Title: "Sign in", Data: form})
}

// signIn is POST /app/sign-in/.
func (a *App) signIn(c echo.Context) error {
	var form signInForm
	var secret string
	err := core.BindForm(c, a.check, &form)
	form.Next = pages.Inside(form.Next)
	if err == nil {
		secret, err = a.trySignIn(c, form.Email)
	}
	if form.Problem = pages.Refusal(err); form.Problem != nil {
		status := pages.RefusalStatus(c, form.Problem)
		return a.pages.Render(c, status, "sign_in", pages.Page{Title: "Sign in", Data: form})
	}
	if err != nil {
		return err
	}
	pages.SetCookie(c, sessionCookie, secret, cookieLife)
	return pages.Redirect(c, form.Next, "")
}

// trySignIn limits attempts by address, and by address and account: an attacker elsewhere cannot lock a user out.
func (a *App) trySignIn(c echo.Context, email string) (string, error) {
	for _, subject := range []string{c.RealIP(), c.RealIP() + " " + normalizeEmail(email)} {
		if err := a.mayGuess(subjectID(subject)); err != nil {
			return "", err
		}
	}
	return a.service.SignIn(c.Request().Context(), signIn{
		Email: email, Password: c.FormValue("password"), UserAgent: c.Request().UserAgent(), Replaces: sessionSecret(c),
	})
}

// mayGuess counts an attempt with a password, because comparing one costs much memory and time.
func (a *App) mayGuess(subject uuid.UUID) error {
	allowance := a.signIns.Allow(subject)
	if allowance.Allowed() {
		return nil
	}
	refused := core.RateLimited("", allowance.Wait)
	refused.Detail = fmt.Sprintf("There were too many attempts with a password. Try again in %s.",
		core.Plural(refused.RetrySeconds(), "second"))
	return refused
}

func subjectID(subject string) uuid.UUID {
	digest := sha256.Sum256([]byte(subject))
	return uuid.UUID(digest[:16])
}

// signOut is POST /app/sign-out/.
func (a *App) signOut(c echo.Context) error {
	if err := a.service.SignOut(c.Request().Context(), sessionSecret(c)); err != nil {
		return err
	}
	pages.SetCookie(c, sessionCookie, "", 0)
	// The next user of the browser must not see cached pages.
	c.Response().Header().Set("Clear-Site-Data", `"cache"`)
	return c.Redirect(http.StatusSeeOther, pages.SignInAddress)
}

// home is GET /app/: the first of the visitor's organizations.
func (a *App) home(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if len(visitor.Orgs) == 0 {
		return a.pages.Render(c, http.StatusOK, "no_organization", pages.Page{Title: "No organization"})
	}
	return c.Redirect(http.StatusSeeOther, pages.Base(visitor.Orgs[0].Slug))
}

// tokensOfHome is GET /app/users/api-key/, where the existing command line client sends its users for a token.
func (a *App) tokensOfHome(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if len(visitor.Orgs) == 0 {
		return a.home(c)
	}
	return c.Redirect(http.StatusSeeOther, pages.Base(visitor.Orgs[0].Slug)+"tokens/")
}
