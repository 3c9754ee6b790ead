package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// Browser is the browser that a request to the dashboard comes from.
type Browser struct {
	// Address is that of the client, for the audit records.
	Address   string
	UserAgent string
	// Secret is that of the session so far; "" for none.
	Secret string
}

// signIn begins a session, or the step that waits for a code of the second factor, and returns the secret for the
// cookie. The network is that of a stranger, and "" if it has signed in to the account before. The
// browser's session so far ends. An unknown address and a wrong password have the same answer, and take the
// same time.
func (s *Service) signIn(ctx context.Context, network, email, password, next string, from Browser) (outcome, error) {
	user, err := s.accounts.User(ctx, email)
	if err != nil && !errors.Is(err, api.CodeNotFound) {
		return outcome{}, err
	}
	matches, err := s.accounts.Match(ctx, network, password, user.PasswordHash)
	if err != nil {
		return outcome{}, err
	}
	if matches && user.DisabledAt == nil {
		return s.passFirst(ctx, challenge{UserID: user.ID, Next: next}, from.Origin(), from)
	}
	refusal := core.NewError(api.CodeNotAuthenticated, "The e-mail address or the password is wrong.")
	why := "wrong password"
	if matches {
		refusal, why = accountDisabled(), "disabled"
	}
	// An unknown address belongs to no user, so only the access log has the attempt.
	if user.ID != uuid.Nil {
		if err := s.accounts.RecordAction(ctx, user.ID, user.ID, "session.refuse", from.how(why)); err != nil {
			return outcome{}, err
		}
	}
	return outcome{}, refusal
}

func accountDisabled() *core.Error {
	return core.NewError(api.CodeNotAuthenticated, "Your account is disabled. Ask the operator of this service.")
}

// Origin is the address of the client, for the audit record of an action.
func (b Browser) Origin() string { return "from " + b.Address }

func (b Browser) how(way string) string { return way + " " + b.Origin() }

// signInForm is what a visitor who signs in sends.
type signInForm struct {
	Email string `form:"email" validate:"max=254"`
	// Next is the page to go to.
	Next    string `form:"next"`
	Problem *core.Error
	// Provider is the name of the provider that people may also sign in with; "" for none.
	Provider string
	// ProviderAddress leads there.
	ProviderAddress string
}

// showSignIn is GET /app/sign-in/.
func (a *App) showSignIn(c echo.Context) error {
	return a.renderSignIn(c, http.StatusOK, signInForm{Next: pages.Inside(c.QueryParam("next"))})
}

func (a *App) renderSignIn(c echo.Context, status int, form signInForm) error {
	if provider := a.service.cfg.OpenID; provider != nil {
		form.Provider = provider.Name()
		form.ProviderAddress = openIDAddress + "?" + url.Values{"next": {form.Next}}.Encode()
	}
	return a.pages.Render(c, status, "sign_in", pages.Page{Title: "Sign in", Data: form})
}

// signIn is POST /app/sign-in/.
func (a *App) signIn(c echo.Context) error {
	var form signInForm
	var into outcome
	err := core.BindForm(c, a.check, &form)
	form.Next = pages.Inside(form.Next)
	if err == nil {
		into, err = a.trySignIn(c, form)
	}
	if err != nil {
		return pages.Refuse(c, err, func(c echo.Context, status int, problem *core.Error) error {
			form.Problem = problem
			return a.renderSignIn(c, status, form)
		})
	}
	return enterInto(c, into, form.Next)
}

// enterInto redirects after a sign-in: to the page, or to the form for the code.
func enterInto(c echo.Context, into outcome, next string) error {
	if into.session == "" {
		pages.SetCookie(c, challengeCookie, into.challenge, challengeLife)
		return pages.Redirect(c, codeAddress, "")
	}
	pages.SetCookie(c, SessionCookie, into.session, CookieLife)
	return pages.Redirect(c, next, "")
}

// trySignIn limits attempts by the network that they come from, and by account.
func (a *App) trySignIn(c echo.Context, form signInForm) (outcome, error) {
	from, email := BrowserOf(c), account.NormalizeEmail(form.Email)
	if err := a.mayGuessFrom(c); err != nil {
		return outcome{}, err
	}
	// Guesses from other networks neither use up the attempts of a network with a recent sign-in to the account, nor
	// keep it waiting.
	network := share.Network(from.Address)
	place, subject := network+" "+email, "account "+email
	if a.familiar.Contains(place) {
		network, subject = "", "place "+place
	} else if err := a.MayGuess(c.Request().Context(), "around "+share.Around(from.Address)); err != nil {
		return outcome{}, err
	}
	if err := a.MayGuess(c.Request().Context(), subject); err != nil {
		return outcome{}, err
	}
	into, err := a.service.signIn(c.Request().Context(), network, form.Email, c.FormValue("password"), form.Next, from)
	if err == nil {
		a.familiar.Add(place, struct{}{})
	}
	return into, err
}

// BrowserOf describes the browser that has sent the request.
func BrowserOf(c echo.Context) Browser {
	return Browser{Address: c.RealIP(), UserAgent: c.Request().UserAgent(), Secret: SessionSecret(c)}
}

// signOut is POST /app/sign-out/.
func (a *App) signOut(c echo.Context) error {
	if err := a.service.SignOut(c.Request().Context(), BrowserOf(c)); err != nil {
		return err
	}
	pages.SetCookie(c, SessionCookie, "", 0)
	// The next user of the browser must not see cached pages.
	c.Response().Header().Set("Clear-Site-Data", `"cache"`)
	return c.Redirect(http.StatusSeeOther, pages.SignInAddress)
}
