package signin

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	// openIDAddress sends a browser to the provider.
	openIDAddress = pages.SignInAddress + "provider/"
	// openIDCookie holds the secret of the sign-in that the browser has begun at the provider.
	openIDCookie = "sv_provider"
)

// toProvider is GET /app/sign-in/provider/. It is a link and not a form, because the content security policy lets forms
// lead to this server only.
func (a *App) toProvider(c echo.Context) error {
	if a.service.cfg.OpenID == nil {
		return noProvider()
	}
	if err := a.mayGuessFrom(c); err != nil {
		return a.signInAgain(c, pages.Root, err)
	}
	waiting := challenge{Purpose: purposeSignIn, Next: pages.Inside(c.QueryParam("next"))}
	again := c.QueryParam("again") != ""
	if again {
		visitor, err := a.visitorOf(c)
		if err != nil {
			return err
		}
		waiting.Purpose, waiting.UserID = purposeProve, visitor.UserID
	}
	secret, err := a.service.beginChallenge(c.Request().Context(), waiting)
	if err != nil {
		return err
	}
	address, err := a.service.cfg.OpenID.flow(c.Request().Context(), secret, again)
	if err != nil {
		return a.signInAgain(c, waiting.Next, err)
	}
	pages.SetCookie(c, openIDCookie, secret, challengeLife)
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.Redirect(http.StatusSeeOther, address)
}

// visitorOf is the visitor of a page below the sign-in, where no session is looked up otherwise.
func (a *App) visitorOf(c echo.Context) (pages.Visitor, error) {
	found, err := a.service.visit(c.Request().Context(), SessionSecret(c))
	return found.visitor, err
}

// fromProvider is GET /app/sign-in/provider/callback/: the provider sends the browser back.
func (a *App) fromProvider(c echo.Context) error {
	if a.service.cfg.OpenID == nil {
		return noProvider()
	}
	secret := pages.Cookie(c, openIDCookie)
	pages.SetCookie(c, openIDCookie, "", 0)
	if err := a.mayGuessFrom(c); err != nil {
		return a.signInAgain(c, pages.Root, err)
	}
	if !belongs(c.QueryParam("state"), secret) {
		return a.signInAgain(c, pages.Root, noSuchChallenge())
	}
	if c.QueryParam("code") == "" {
		return a.signInAgain(c, pages.Root, core.NewError(api.CodeNotAuthenticated,
			"The provider has not signed you in. Try again, or sign in with your password."))
	}
	visitor, err := a.visitorOf(c)
	if err != nil && !errors.Is(err, api.CodeNotAuthenticated) {
		return err
	}
	into, waiting, err := a.service.finishProvider(c.Request().Context(), secret, c.QueryParam("code"), visitor,
		BrowserOf(c))
	if err != nil {
		return a.signInAgain(c, pages.Inside(waiting.Next), err)
	}
	if waiting.Purpose == purposeProve {
		return pages.Redirect(c, waiting.Next, "Thank you. Send the form again now.")
	}
	return enterInto(c, into, waiting.Next)
}

// signInAgain shows the sign-in with what went wrong. If the provider is down, the password still works.
func (a *App) signInAgain(c echo.Context, next string, err error) error {
	problem := pages.Refusal(err)
	if problem == nil && errors.Is(err, api.CodeUnavailable) {
		problem, _ = errors.AsType[*core.Error](err)
	}
	if problem == nil {
		return err
	}
	return a.renderSignIn(c, pages.RefusalStatus(c, problem), signInForm{Next: next, Problem: problem})
}

func noProvider() error {
	return core.NewError(api.CodeNotFound, "This installation has no provider to sign in with.")
}
